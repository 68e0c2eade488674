#pragma once

#include "ui/pages/parts/page.h"

class QLabel;
class QStandardItemModel;

namespace headwise::ui {

class TableFigure;

/// The heads that the selected head reads from and those that read from it, by distance above the baseline.
class CompositionPanel : public Page {
    Q_OBJECT

public:
    explicit CompositionPanel(Workspace* workspace, QWidget* parent = nullptr);

    QList<FigureSource*> figures() override;

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    void fitColumns(); ///< Hides the score if there is no space for all columns.
    void recompute() override;

    QLabel* m_message;
    QStandardItemModel* m_model;
    TableFigure* m_table;
    std::vector<HeadId> m_heads; // heads of the rows
};

} // namespace headwise::ui
