#pragma once

#include "core/model/forward.h"
#include "ui/pages/page.h"

class QLabel;
class QLineEdit;
class QPushButton;

namespace headwise::ui {

/// A prompt to begin with: a few words twice, which is where induction shows.
QString repeatedWords(const Tokenizer& tokenizer);

class HeatmapPanel;
class JobBar;

/// A prompt through the model: the attention pattern of the selected head, rows queries, columns keys.
class PromptPage : public Page {
    Q_OBJECT

public:
    explicit PromptPage(Workspace* workspace, QWidget* parent = nullptr);

    QJsonObject viewState() const override;
    void setViewState(const QJsonObject& state) override;
    QList<FigureSource*> figures() override;

protected:
    void showEvent(QShowEvent* event) override;

private:
    struct Answer;
    void run();
    void showPattern();
    void reset();

    QString m_suggested; // what the page itself put into the line
    QLineEdit* m_prompt;
    QPushButton* m_run;
    QLabel* m_summary;
    HeatmapPanel* m_panel;
    Job m_job;
    std::shared_ptr<const Answer> m_answer; // of the last prompt; null if there is none
};

} // namespace headwise::ui
