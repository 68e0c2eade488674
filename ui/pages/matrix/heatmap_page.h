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

/// The circuit of the selected head as a matrix: residual × residual, or token × token for the tokens of a text or for
/// all. Also the direct path from the embedding to the unembedding, which involves no head.
class HeatmapPage : public Page {
    Q_OBJECT

public:
    explicit HeatmapPage(Workspace* workspace, QWidget* parent = nullptr);

    /// Explains why this page has nothing to show for the open model or session; empty if it has.
    static QString whyNot(const Workspace& workspace);

    QJsonObject viewState() const override;
    void setViewState(const QJsonObject& state) override;
    QList<FigureSource*> figures() override;

    /// Tokens of the current cell's row and column in a full circuit; else none.
    std::optional<std::pair<int, int>> currentTokens() const;

private:
    void fillChoices();
    void createLayout();
    void recompute() override;
    void chooseTokens(); ///< Takes them from the text, or samples whole words.
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
    CircuitKind kind() const;  ///< For the direct path: full OV, whose rows and columns are the same.
    bool isDirect() const;
    bool isOfScores() const; ///< QK or full QK.
    bool isTokenCircuit() const;
    bool isOfAllTokens() const;
    bool isTiled() const; ///< True if it is too large to form.
    bool isSoftmaxOfScores() const;
    /// Turns scale and biases on with a softmax and off after it, unless the user chose otherwise, because a softmax
    /// needs the scores that attention uses.
    void setTermsOfSoftmax();
    QString formText() const;           ///< " · z-scores of rows"; empty for raw rows.
    std::vector<int> rowTokens() const; ///< Rows of a full circuit.
    std::vector<int> columnTokens() const;
    QString entryName(const std::vector<int>& shown, int index) const;

    QComboBox* m_circuit;
    QComboBox* m_which; // choice of tokens
    QComboBox* m_form;  // form of rows
    QComboBox* m_order; // order of rows and columns
    QComboBox* m_aggregate;
    QCheckBox* m_norms;
    QCheckBox* m_biases;
    QCheckBox* m_scale;
    OffsetBox* m_offset;
    QLineEdit* m_text;
    QLabel* m_state;
    HeatmapPanel* m_panel;
    bool m_isSoftmax = false;           // softmax of scores
    std::set<QCheckBox*> m_turnedOn;    // turned on by the softmax
    std::vector<int> m_tokens;          // tokens of the text, each once
    std::vector<int> m_rows, m_columns; // displayed indices, in order
    Job m_job;
};

} // namespace headwise::ui
