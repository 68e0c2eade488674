#pragma once

#include "ui/pages/matrix/heatmap_circuit.h"
#include "ui/pages/parts/page.h"

#include <set>

class QCheckBox;
class QComboBox;
class QLabel;
class QLineEdit;

namespace headwise::ui {

class HeatmapPanel;
class JobBar;
class OffsetBox;

/// The circuit of the selected head as a matrix: residual × residual, or token × token for the tokens of a text or all; and the
/// direct path from the embedding to the unembedding, which no head is in.
class HeatmapPage : public Page {
    Q_OBJECT

public:
    explicit HeatmapPage(Workspace* workspace, QWidget* parent = nullptr);

    QJsonObject viewState() const override;
    void setViewState(const QJsonObject& state) override;
    QList<FigureSource*> figures() override;

    /// Tokens of the current cell's row and column, in a circuit between tokens; else none.
    std::optional<std::pair<int, int>> currentTokens() const;

private:
    void fillChoices();
    void createLayout();
    void recompute() override;
    void chooseTokens(); ///< From the text, or a sample of whole words.
    void describeAxes();
    void showCircuit(const ShownCircuit& shown);
    void connectChoices();
    void connectView();
    void showError(const Error& error);
    QString stateText(const EntryStatistics& entries) const;
    QString heading() const;
    CircuitPicture picture() const;
    CircuitTerms terms() const;
    QString termsText() const; ///< "no scale, no bias"
    CircuitKind kind() const;  ///< For the direct path: full OV, which has the same rows and columns.
    bool isDirect() const;
    bool isOfScores() const; ///< QK or full QK.
    bool isTokenCircuit() const;
    bool isOfAllTokens() const;
    bool isTiled() const; ///< Too large to be formed.
    bool isSoftmaxOfScores() const;
    /// A softmax is of scores as attention takes them: scale and biases come and go with it, unless the reader says otherwise.
    void setTermsOfSoftmax();
    QString formText() const;           ///< " · z-scores of rows"; empty of rows as they are.
    std::vector<int> rowTokens() const; ///< Rows of a circuit of tokens.
    std::vector<int> columnTokens() const;
    QString entryName(const std::vector<int>& shown, int index) const;

    QComboBox* m_circuit;
    QComboBox* m_which; // tokens
    QComboBox* m_form;  // of rows
    QComboBox* m_order; // of rows and columns
    QComboBox* m_aggregate;
    QCheckBox* m_norms;
    QCheckBox* m_biases;
    QCheckBox* m_scale;
    OffsetBox* m_offset;
    QLineEdit* m_text;
    QLabel* m_state;
    HeatmapPanel* m_panel;
    bool m_isSoftmax = false;           // of scores
    std::set<QCheckBox*> m_turnedOn;    // by it
    std::vector<int> m_tokens;          // of the text, each once
    std::vector<int> m_rows, m_columns; // the indices shown, in their order
    Job m_job;
};

} // namespace headwise::ui
