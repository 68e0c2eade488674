#pragma once

#include "ui/document/workspace.h"

#include <QWidget>

class QComboBox;
class QFormLayout;
class QLabel;
class QLineEdit;
class QPlainTextEdit;
class QSpinBox;

namespace headwise::ui {

class DirectionInput;
class HeadsInput;
class TextInputs;

/// Input fields for analyses that need more than the weights. Shows only the fields of the current analysis.
class AnalysisForm : public QWidget {
    Q_OBJECT

public:
    explicit AnalysisForm(Workspace* workspace, QWidget* parent = nullptr);

    void setNeeds(const Analysis& analysis);
    /// Copies the fields into the workspace. A message below names any field that cannot be read.
    /// \returns whether the choice of heads is valid
    bool apply();

    QString prompt() const;
    void setPrompt(const QString& prompt);
    /// Sets the positions of the score to decompose. −1 means the last query, or each head's strongest key.
    void setPositions(int query, int key);
    int seed() const;
    void setSeed(int seed);
    /// Sets a direction by a name that readDirection() reads, instead of two tokens.
    void setDirection(const QString& name);

signals:
    /// A direction's name was read: it is now in the inputs, or a message explains the problem.
    void directionRead();

private:
    void createFields();
    void createRows();
    void createWords(); ///< The fields of one line: a token, a cycle of ids, heads marked by hand.
    void createPositions();
    void createMetric();
    void showHeads();     ///< The heads that the analysis is asked about.
    void forget();        ///< Clears all that is about the model that was open.
    void suggest();       ///< Fills in an initial prompt and direction.
    void showSelection(); ///< Shows the selected token and heads.
    std::vector<int> readPrompt(QString& problem) const;
    std::optional<int> readKeyToken(QString& problem) const;
    void readPositions(AnalysisInputs& inputs, QString& problem) const;
    std::vector<HeadId> readHeads(QString& problem) const; ///< The heads marked by hand.

    Workspace* m_workspace;
    QFormLayout* m_rows;
    QPlainTextEdit* m_prompt;
    QLabel* m_token;
    QLineEdit *m_keyToken, *m_cycle;
    QWidget* m_positions;
    QSpinBox *m_query, *m_key;
    QLabel* m_positionTokens;
    QWidget* m_pair;
    QLineEdit* m_reference;
    QLabel* m_selected;
    DirectionInput* m_direction;
    QLineEdit* m_previousToken;
    TextInputs* m_texts;
    QComboBox* m_metric;
    HeadsInput* m_heads;
    QSpinBox* m_seed;
    QLabel* m_problem;
    QString m_suggestedPrompt;
    const Analysis* m_analysis = &catalogue().front();
};

} // namespace headwise::ui
