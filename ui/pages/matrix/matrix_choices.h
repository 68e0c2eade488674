#pragma once

#include "ui/pages/matrix/heatmap_circuit.h"
#include "ui/widgets/view_fields.h"

#include <QWidget>

#include <set>

class QCheckBox;
class QComboBox;
class QLineEdit;

namespace headwise::ui {

class OffsetBox;
class Workspace;

/// The choice of a circuit, its tokens, its terms, and the form and order of its rows.
class MatrixChoices : public QWidget {
    Q_OBJECT

public:
    explicit MatrixChoices(Workspace* workspace, QWidget* parent = nullptr);

    CircuitPicture picture() const;
    QString circuit() const;  ///< "full OV: E W_V W_O W_U"
    CircuitKind kind() const; ///< For the direct path: full OV, whose rows and columns are the same.
    bool isDirect() const;
    bool isOfScores() const; ///< QK or full QK.
    bool isTokenCircuit() const;
    QString termsText() const; ///< "no scale, no bias"
    QString formText() const;  ///< " · z-scores of rows"; empty for raw rows.

    void updateEnabled(); ///< Enables the choices that the circuit has.
    ViewFields viewFields();

signals:
    void changed(); ///< Another picture: by the user, the model or the selection.

private:
    void fillChoices();
    void createLayout();
    void connectChoices();
    void chooseTokens(); ///< Takes them from the text, or samples whole words.
    CircuitTerms terms() const;
    bool isOfAllTokens() const;
    bool isTiled() const; ///< True if it is too large to form.
    bool isSoftmaxOfScores() const;
    /// Turns scale and biases on with a softmax and off after it, unless the user chose otherwise, because a softmax
    /// needs the scores that attention uses.
    void setTermsOfSoftmax();
    std::vector<int> rowTokens() const; ///< Rows of a full circuit.
    std::vector<int> columnTokens() const;

    Workspace* m_workspace;
    QComboBox* m_circuit;
    QComboBox* m_which; // choice of tokens
    QComboBox* m_form;  // form of rows
    QComboBox* m_order; // order of rows and columns
    QCheckBox* m_biases;
    QCheckBox* m_scale;
    OffsetBox* m_offset;
    QLineEdit* m_text;
    bool m_isSoftmax = false;        // softmax of scores
    std::set<QCheckBox*> m_turnedOn; // turned on by the softmax
    std::vector<int> m_tokens;       // tokens of the text, each once
};

} // namespace headwise::ui
