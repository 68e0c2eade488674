#pragma once

#include "ui/pages/matrix/heatmap_circuit.h"
#include "ui/pages/parts/page.h"

class QCheckBox;
class QComboBox;
class QLabel;

namespace headwise::ui {

class HeatmapPanel;
class MatrixChoices;

/// The circuit of the selected head as a matrix: residual × residual, or token × token for the tokens of a text or for
/// all. Also the direct path from the embedding to the unembedding, which involves no head.
class HeatmapPage : public Page {
    Q_OBJECT

public:
    explicit HeatmapPage(Workspace* workspace, QWidget* parent = nullptr);

    /// Explains why this page has nothing to show for the open model or session; empty if it has.
    static QString whyNot(const Workspace& workspace);

    ViewFields viewFields() override;
    QList<FigureSource*> figures() override;

    /// Tokens of the current cell's row and column in a full circuit; else none.
    std::optional<std::pair<int, int>> currentTokens() const;

private:
    void createLayout();
    void recompute() override;
    void describeAxes();
    void showCircuit(const ShownCircuit& shown);
    void connectView();
    void showError(const Error& error);
    QString stateText(const EntryStatistics& entries) const;
    QString heading() const;
    QString entryName(const std::vector<int>& shown, int index) const;

    MatrixChoices* m_choices;
    QComboBox* m_aggregate;
    QCheckBox* m_norms;
    QLabel* m_state;
    HeatmapPanel* m_panel;
    std::vector<int> m_rows, m_columns; // displayed indices, in order
    Job m_job;
};

} // namespace headwise::ui
