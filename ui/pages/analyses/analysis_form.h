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

/// Fields for the inputs that analyses need besides the weights. Only those that the shown analysis asks for are there.
class AnalysisForm : public QWidget {
    Q_OBJECT

public:
    explicit AnalysisForm(Workspace* workspace, QWidget* parent = nullptr);

    void setNeeds(const Analysis& analysis);
    /// Takes the fields over into the workspace; a message under them names any that cannot be read.
    /// \returns whether it is known which heads are asked about
    bool apply();

    QString prompt() const;
    void setPrompt(const QString& prompt);
    /// Sets the positions of the score that is taken apart: −1 for the last query, or for each head's strongest key.
    void setPositions(int query, int key);
    int seed() const;
    void setSeed(int seed);
    void loadRelations(const QString& file); ///< Empty: the built-in ones.
    /// In place of two tokens: a name that readDirection() reads.
    void setDirection(const QString& name);

signals:
    void
    directionRead(); ///< A direction's name was read: it is in the inputs now, or a message says why not.

protected:
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;

private:
    void createFields();
    void createRows();
    void createKeyToken();
    void createPositions();
    void createMarks(); ///< Fields that mark known heads.
    void createMetric();
    void showHeads();     ///< The heads that the analysis is asked about.
    void suggest();       ///< A prompt and a direction to begin with.
    void showSelection(); ///< Token and heads.
    std::vector<int> readPrompt(QString& problem) const;
    std::optional<int> readKeyToken(QString& problem) const;
    void readPositions(AnalysisInputs& inputs, QString& problem) const;
    std::vector<HeadId> readHeads(QString& problem) const; ///< The heads marked by hand.
    void chooseRelations();
    void showRelations();

    Workspace* m_workspace;
    QFormLayout* m_rows;
    QPlainTextEdit* m_prompt;
    QLabel* m_token;
    QLineEdit* m_keyToken;
    QWidget* m_positions;
    QSpinBox *m_query, *m_key;
    QLabel* m_positionTokens;
    QWidget* m_pair;
    QLineEdit* m_reference;
    QLabel* m_selected;
    DirectionInput* m_direction;
    QLineEdit* m_previousToken;
    QWidget* m_relations;
    QLabel* m_relationsName;
    TextInputs* m_texts;
    QComboBox* m_metric;
    HeadsInput* m_heads;
    QSpinBox* m_seed;
    QLabel* m_problem;
    QString m_suggestedPrompt;
    InputNeeds m_needs;
    QString m_relationsFile; // where they came from, if from a file
};

} // namespace headwise::ui
