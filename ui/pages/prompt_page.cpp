#include "ui/pages/prompt_page.h"

#include "core/io/token_search.h"
#include "ui/text.h"
#include "ui/theme.h"
#include "ui/views/heatmap_panel.h"
#include "ui/views/job_bar.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QVBoxLayout>

namespace headwise::ui {

struct PromptPage::Answer {
    std::vector<int> tokens;
    std::vector<std::vector<Eigen::MatrixXf>> patterns; // [layer][head]: [n, n]
    int likeliestNext = 0;
};

QString repeatedWords(const Tokenizer& tokenizer)
{
    std::vector<int> words = sampleOfWords(tokenizer, 8);
    const std::vector<int> once = words;
    words.insert(words.end(), once.begin(), once.end());
    return text(tokenizer.decode(words));
}

PromptPage::PromptPage(Workspace* workspace, QWidget* parent)
    : Page(workspace, parent)
    , m_prompt(new QLineEdit(this))
    , m_run(new QPushButton(tr("Run"), this))
    , m_summary(new QLabel(this))
    , m_panel(new HeatmapPanel(this))
{
    m_prompt->setPlaceholderText(tr("A prompt; the model's own rule for special tokens is followed"));
    m_prompt->setFont(tokenFont());
    m_prompt->setTextMargins(4, 0, 4, 0);
    makeSecondary(m_summary);
    auto* controls = new QHBoxLayout;
    controls->setSpacing(8);
    controls->addWidget(m_prompt, 1);
    controls->addWidget(m_run);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(12, 12, 12, 12);
    layout->setSpacing(8);
    layout->addLayout(controls);
    layout->addWidget(m_panel, 1);
    auto* bottom = new QHBoxLayout;
    bottom->addWidget(m_summary, 1);
    bottom->addWidget(new JobBar(&m_job, this));
    layout->addLayout(bottom);
    m_panel->view()->setCellShape(HeatmapView::CellShape::Square);
    m_panel->view()->setColorScale({ColorMap::Attention, 0, 1, ColorFit::Fixed});
    connect(m_run, &QPushButton::clicked, this, &PromptPage::run);
    connect(m_prompt, &QLineEdit::returnPressed, this, &PromptPage::run);
    connect(workspace, &Workspace::circuitsChanged, this, &PromptPage::reset);
    connect(workspace, &Workspace::headChanged, this, &PromptPage::showPattern);
    connect(m_panel->view(), &HeatmapView::hoverLeft, this, [this] { emit readOutChanged({}); });
    connect(m_panel->view(), &HeatmapView::cellHovered, this, [this](int row, int column, float value) {
        const auto token = [this](int place) {
            return this->workspace()->tokenText(m_answer->tokens[static_cast<std::size_t>(place)]);
        };
        emit readOutChanged(tr("query %1 %2 → key %3 %4   %5")
                                .arg(row)
                                .arg(token(row))
                                .arg(column)
                                .arg(token(column), number(value)));
    });
    reset();
}

void PromptPage::reset()
{
    m_job.cancel();
    m_answer.reset();
    m_summary->clear();
    m_panel->view()->setMatrix(nullptr);
    const bool possible = workspace()->circuits() && workspace()->tokenizer();
    if (possible && m_prompt->text() == m_suggested) {
        m_suggested = repeatedWords(*workspace()->tokenizer());
        m_prompt->setText(m_suggested);
    }
    m_prompt->setEnabled(possible);
    m_run->setEnabled(possible);
    m_panel->view()->setMessage(possible ? tr("Type a prompt to see where this head looks.")
                                         : tr("A prompt needs the model's files and its tokenizer."));
    if (possible && isVisible())
        run();
}

void PromptPage::showEvent(QShowEvent* event)
{
    Page::showEvent(event);
    if (!m_answer && !m_job.isRunning())
        run();
}

void PromptPage::run()
{
    if (!workspace()->circuits() || !workspace()->tokenizer() || m_prompt->text().isEmpty())
        return;
    using Found = std::shared_ptr<const Answer>;
    m_panel->view()->setPending(true);
    m_job.start(
        tr("Running the prompt"),
        [circuits = workspace()->circuits(), tokenizer = workspace()->tokenizer(),
         prompt = m_prompt->text().toStdString()](const Task& task) -> Result<Found> {
            auto tokens = tokenizer->encode(prompt);
            if (!tokens)
                return tokens.error();
            auto passed = forward<float>(circuits->weights(), *tokens, task);
            if (!passed)
                return passed.error();
            auto answer = std::make_shared<Answer>();
            answer->tokens = *tokens;
            answer->patterns = passed->patterns;
            Eigen::Index best = 0;
            passed->logits.row(passed->logits.rows() - 1).maxCoeff(&best);
            answer->likeliestNext = static_cast<int>(best);
            return Found(std::move(answer));
        },
        [this](const Result<Found>& result) {
            m_panel->view()->setPending(false);
            if (!result) {
                m_answer.reset();
                m_panel->view()->setMatrix(nullptr);
                return m_panel->view()->setMessage(text(result.error()));
            }
            m_answer = *result;
            showPattern();
        });
}

void PromptPage::showPattern()
{
    if (!m_answer)
        return;
    const HeadId head = workspace()->head();
    HeatmapView* view = m_panel->view();
    QStringList labels;
    for (const int token : m_answer->tokens)
        labels << workspace()->tokenText(token);
    view->setRowAxis(labelledAxis(tr("query"), labels));
    view->setColumnAxis(labelledAxis(tr("key"), labels));
    view->setMatrix(std::make_shared<Eigen::MatrixXf>(
        m_answer->patterns[static_cast<std::size_t>(head.layer)][static_cast<std::size_t>(head.head)]));
    m_summary->setText(tr("%1 · %2 tokens · likeliest next token %3")
                           .arg(text(head))
                           .arg(m_answer->tokens.size())
                           .arg(workspace()->tokenText(m_answer->likeliestNext)));
}

QJsonObject PromptPage::viewState() const
{
    return {{QStringLiteral("prompt"), m_prompt->text()}, {QStringLiteral("heatmap"), m_panel->viewState()}};
}

void PromptPage::setViewState(const QJsonObject& state)
{
    m_prompt->setText(state[QStringLiteral("prompt")].toString());
    m_panel->setViewState(state[QStringLiteral("heatmap")].toObject());
    run();
}

QList<FigureSource*> PromptPage::figures()
{
    if (!m_panel->view()->matrix())
        return {};
    describe(m_panel->view(),
             tr("%1 attention, %2").arg(text(workspace()->head()), text(workspace()->card().name)));
    return {m_panel->view()};
}

} // namespace headwise::ui
