#include "ui/pages/model/names_trial.h"

#include "ui/base/bidi.h"
#include "ui/base/text.h"
#include "ui/widgets/job_bar.h"

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>

namespace headwise::ui {

NamesTrial::NamesTrial(ModelSource source, QWidget* parent)
    : QWidget(parent)
    , m_source(std::move(source))
    , m_prompt(new QLineEdit(this))
    , m_run(new QPushButton(tr("&Run prompt"), this))
    , m_answer(new QLabel(this))
{
    m_prompt->setPlaceholderText(tr("Prompt: text, or token ids such as 3 5 8 if there is no tokenizer"));
    m_prompt->setAccessibleName(tr("Prompt"));
    m_run->setAutoDefault(false);
    m_answer->setTextFormat(Qt::PlainText);
    m_answer->setWordWrap(true);
    auto* line = new QHBoxLayout;
    line->addWidget(m_prompt, 1);
    line->addWidget(m_run);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addLayout(line);
    layout->addLayout(textAndJob(m_answer, &m_job));
    connect(m_run, &QPushButton::clicked, this, &NamesTrial::run);
    connect(m_prompt, &QLineEdit::returnPressed, this, &NamesTrial::run);
}

void NamesTrial::setDescription(const std::string& map, const QString& problem)
{
    if (map == m_map && problem == m_problem)
        return;
    m_map = map;
    m_problem = problem;
    m_job.cancel();
    m_answer->clear();
}

/// Keeps Enter in the prompt from saving the description.
void NamesTrial::keyPressEvent(QKeyEvent* event)
{
    if (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter)
        event->accept();
    else
        QWidget::keyPressEvent(event);
}

void NamesTrial::run()
{
    if (!m_problem.isEmpty()) {
        m_answer->setText(m_problem);
        return;
    }
    constexpr int shown = 5;
    const TrialQuestion question{m_source, m_map, m_prompt->text().toStdString()};
    m_answer->clear();
    m_job.start(
        tr("Running the prompt"), [question](const Task& task) { return runTrial(question, shown, task); },
        [this](const Result<std::vector<TrialToken>>& answer) { showAnswer(answer); });
}

void NamesTrial::showAnswer(const Result<std::vector<TrialToken>>& answer)
{
    if (!answer) {
        m_answer->setText(text(answer.error()));
        return;
    }
    QStringList tokens;
    for (const TrialToken& token : *answer)
        tokens << tr("%1 %2").arg(token.text, percent(token.probability));
    m_answer->setText(isolated(tr("Most likely next: %1").arg(tokens.join(QStringLiteral(" · ")))));
}

} // namespace headwise::ui
