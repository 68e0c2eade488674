#pragma once

#include "core/analysis/shared/mean_tokens.h"
#include "ui/pages/parts/page.h"

class QLabel;
class QStandardItemModel;

namespace headwise::ui {

class TableFigure;

/// The tokens that a head of layer 0 attends to most and least if the selected token is the query, at any position, each
/// with the token that the two form together.
class PrefixTable : public Page {
    Q_OBJECT

public:
    explicit PrefixTable(Workspace* workspace, QWidget* parent = nullptr);

    /// Sets the tokens of the open model; null: not known yet.
    void setTokens(std::shared_ptr<const MeanDivided> tokens);
    QList<FigureSource*> figures() override;

private:
    struct Answer;
    void recompute() override;
    void show(const Answer& answer);
    void clear(const QString& message);

    std::shared_ptr<const MeanDivided> m_tokens;
    QLabel* m_heading;
    QStandardItemModel* m_model;
    TableFigure* m_table;
    Job m_job;
};

} // namespace headwise::ui
