#pragma once

#include "ui/base/job.h"
#include "ui/pages/model/trial_run.h"

#include <QWidget>

class QLabel;
class QLineEdit;
class QPushButton;

namespace headwise::ui {

/// Runs a prompt through a model as it is described so far and lists the most likely next tokens, so that the user sees whether the
/// description is right.
class NamesTrial : public QWidget {
    Q_OBJECT

public:
    explicit NamesTrial(ModelSource source, QWidget* parent = nullptr);

    /// Takes a changed description; the answer of an earlier one vanishes.
    /// \param problem the reason why it cannot run, a sentence; else empty
    void setDescription(const std::string& map, const QString& problem);

protected:
    void keyPressEvent(QKeyEvent* event) override;

private:
    void run();
    void showAnswer(const Result<std::vector<TrialToken>>& answer);

    ModelSource m_source;
    std::string m_map;
    QString m_problem;
    QLineEdit* m_prompt;
    QPushButton* m_run;
    QLabel* m_answer;
    Job m_job;
};

} // namespace headwise::ui
