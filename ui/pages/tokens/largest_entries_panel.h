#pragma once

#include "core/circuits/circuits.h"
#include "ui/pages/parts/page.h"

#include <memory>
#include <vector>

class QLabel;
class QStandardItemModel;

namespace headwise::ui {

class FillButton;
class TableFigure;

/// The largest entries of a full circuit of the selected head over all pairs of tokens that pass the filter.
class LargestEntriesPanel : public Page {
    Q_OBJECT

public:
    explicit LargestEntriesPanel(Workspace* workspace, QWidget* parent = nullptr);

    /// \param offset Δ of full QK with rotary positions
    void setCircuit(CircuitKind kind, int offset);

    QList<FigureSource*> figures() override;

signals:
    void tokenActivated(int token); ///< First token of the double-clicked pair.

private:
    struct Found;
    void recompute() override;
    void showEntries(const Found& found);
    void clear(const QString& message);

    int m_offset = 0;
    CircuitKind m_kind = CircuitKind::FullOv;
    QLabel* m_heading;
    QLabel* m_state;
    FillButton* m_fill;
    QStandardItemModel* m_model;
    TableFigure* m_table;
    Job m_job;
};

} // namespace headwise::ui
