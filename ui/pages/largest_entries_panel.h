#pragma once

#include "core/circuits/circuits.h"
#include "ui/pages/page.h"

#include <memory>
#include <vector>

class QLabel;
class QStandardItemModel;

namespace headwise::ui {

class TableFigure;

/// The largest entries of a full circuit of the selected head over all pairs of tokens, or of those that a filter lets through.
class LargestEntriesPanel : public Page {
    Q_OBJECT

public:
    explicit LargestEntriesPanel(Workspace* workspace, QWidget* parent = nullptr);

    void setKind(CircuitKind kind);
    /// Tokens that are not looked at, true of each; null: ids without a token alone.
    void setLeftOut(std::shared_ptr<const std::vector<bool>> leftOut);

    QList<FigureSource*> figures() override;

signals:
    void tokenActivated(int token); ///< Of the row that was double-clicked, the first of the pair.

private:
    struct Found;
    void recompute() override;
    void showEntries(const Found& found);
    void clear(const QString& message);

    CircuitKind m_kind = CircuitKind::FullOv;
    std::shared_ptr<const std::vector<bool>> m_leftOut;
    QLabel* m_heading;
    QLabel* m_state;
    QStandardItemModel* m_model;
    TableFigure* m_table;
    Job m_job;
};

} // namespace headwise::ui
