#pragma once

#include "ui/workspace.h"

#include <QWidget>

class QComboBox;
class QFormLayout;
class QLabel;
class QLineEdit;
class QPlainTextEdit;
class QPushButton;
class QSpinBox;

namespace headwise::ui {

class TextInputs;

/// What analyses are asked about beside the weights, as fields; only those that the shown analysis asks for are there.
class AnalysisForm : public QWidget {
    Q_OBJECT

public:
    explicit AnalysisForm(Workspace* workspace, QWidget* parent = nullptr);

    void setNeeds(const Analysis& analysis);
    /// Takes the fields over into the workspace; what cannot be read is said under them.
    /// \returns whether it is known which heads are asked about
    bool apply();

    QString prompt() const;
    void setPrompt(const QString& prompt);
    int seed() const;
    void setSeed(int seed);
    void loadRelations(const QString& file); ///< Empty: the built-in ones.
    /// In place of two tokens: a name that readDirection() reads.
    void setDirection(const QString& name);

signals:
    void directionRead(); ///< Of a name: inputs have it now, or it is said why not.

protected:
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;

private:
    void createFields();
    void createRows();
    void createKeyToken();
    void createMarks(); ///< Of heads that are known.
    void createMetric();
    void createHeads();
    void showHeads(); ///< Those that the analysis is asked about.
    bool applyHeads(QString& problem);
    void suggest();       ///< A prompt and a direction to begin with.
    void showSelection(); ///< Token and heads.
    std::vector<int> readPrompt(QString& problem) const;
    int tokenOf(const QString& words) const; ///< Its id; −1 for none and for several tokens.
    std::vector<double> readDirection(QString& problem);
    std::vector<double> readNamedDirection(QString& problem);
    void chooseDirection();
    std::optional<int> readKeyToken(QString& problem) const;
    std::vector<HeadId> readHeads(QString& problem) const; ///< Those that are marked by hand.
    void chooseRelations();
    void showRelations();

    Workspace* m_workspace;
    QFormLayout* m_rows;
    QPlainTextEdit* m_prompt;
    QLabel* m_token;
    QLineEdit* m_keyToken;
    QWidget* m_pair;
    QLineEdit* m_reference;
    QLabel* m_selected;
    QWidget* m_direction;
    QLineEdit* m_to;
    QLineEdit* m_from;
    QComboBox* m_space;
    QPushButton* m_directionFile;
    QLineEdit* m_previousToken;
    QWidget* m_relations;
    QLabel* m_relationsName;
    TextInputs* m_texts;
    QComboBox* m_metric;
    QWidget* m_heads;
    QComboBox* m_whichHeads;
    QLineEdit* m_listedHeads;
    QSpinBox* m_seed;
    QLabel* m_problem;
    QString m_suggestedPrompt, m_suggestedDirection;
    const Analysis* m_analysis = nullptr;
    struct NamedDirection {
        std::string name;
        std::shared_ptr<const Circuits> circuits; // whose it is
        std::vector<double> numbers;
        QString problem;
    };
    NamedDirection m_named; // the last that was read
    Job m_directionJob;     // of a file, an MLP or a decomposition
    InputNeeds m_needs;
    QString m_relationsFile; // where they came from, if from a file
};

} // namespace headwise::ui
