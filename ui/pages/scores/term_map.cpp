#include "ui/pages/scores/term_map.h"

#include "core/analysis/shared/positions_shown.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/document/about_model.h"
#include "ui/heatmaps/heatmap_panel.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QVBoxLayout>

#include <algorithm>
#include <array>

namespace headwise::ui {

namespace {

constexpr Eigen::Index termMapSampledTokens = 64;
constexpr std::array shownTerms{"T^ee", "T^ee without σ", "T^ep", "T^pe", "T^pp", "Score"};

const Matrix<double>& termOf(const ScoreTerms& terms, int index)
{
    switch (index) {
    case 0: return terms.pairs[0];
    case 1: return terms.bare;
    case 5: return terms.score;
    default: return terms.pairs[static_cast<std::size_t>(index - 1)];
    }
}

} // namespace

struct TermMap::Answer {
    std::vector<int> tokens;
    ScoreTerms terms;
    QString warning;
};

TermMap::TermMap(Workspace* workspace, QWidget* parent)
    : Page(workspace, parent)
    , m_words(new QLineEdit(this))
    , m_term(new QComboBox(this))
    , m_note(new QLabel(this))
    , m_panel(new HeatmapPanel(this))
{
    createLayout();
    connect(m_words, &QLineEdit::returnPressed, this, &TermMap::refresh);
    connect(m_term, &QComboBox::currentIndexChanged, this, &TermMap::showTerm);
    HeatmapView* view = m_panel->view();
    connect(view, &HeatmapView::hoverLeft, this, [this] { emit readOutChanged({}); });
    connect(view, &HeatmapView::cellHovered, this, [this](int row, int column, float value) {
        const auto token = [this](int place) {
            return this->workspace()->model()->tokenText(m_answer->tokens[static_cast<std::size_t>(place)]);
        };
        emit readOutChanged(tr("query %1 %2 → key %3 %4   %5")
                                .arg(row)
                                .arg(token(row))
                                .arg(column)
                                .arg(token(column), signedNumber(value)));
    });
    for (const auto signal : {&OpenModel::opened, &OpenModel::closed, &OpenModel::circuitsChanged})
        connect(workspace->model(), signal, this, &TermMap::refresh);
    connect(workspace->selection(), &Selection::headChanged, this, &TermMap::refresh);
    connect(workspace->filteredTokens(), &FilteredTokens::changed, this, &TermMap::refresh);
}

void TermMap::createLayout()
{
    m_words->setPlaceholderText(tr("%1 tokens at random; or words of your own").arg(termMapSampledTokens));
    m_words->setAccessibleName(tr("Words of the map"));
    m_words->setFont(tokenFont());
    m_words->setTextMargins(4, 0, 4, 0);
    for (const char* term : shownTerms)
        m_term->addItem(text(term));
    m_term->setAccessibleName(tr("Term of the score"));
    makeSecondary(m_note);
    m_note->setWordWrap(true);
    m_note->hide();
    HeatmapView* view = m_panel->view();
    view->setAccessibleName(tr("Term of every pair of tokens"));
    view->setCellShape(HeatmapView::CellShape::Square);
    ColorScale scale;
    scale.map = ColorMap::Signed;
    view->colors()->proposeScale(scale);
    auto* controls = new QHBoxLayout;
    controls->setSpacing(8);
    controls->addWidget(m_term);
    controls->addWidget(m_words, 1);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(8);
    layout->addLayout(controls);
    layout->addWidget(m_panel, 1);
    layout->addWidget(m_note);
}

void TermMap::clear(const QString& message)
{
    m_job.cancel();
    m_answer.reset();
    m_panel->view()->setMatrix(nullptr);
    m_panel->view()->setMessage(message);
    m_note->hide();
}

void TermMap::recompute()
{
    const auto circuits = workspace()->model()->circuits();
    m_words->setEnabled(workspace()->model()->tokenizer() != nullptr);
    if (!workspace()->model()->isOpen() || !circuits || workspace()->selection()->head().layer > 0)
        return clear({});
    using Found = std::shared_ptr<const Answer>;
    m_panel->view()->setPending(true);
    m_job.start(
        tr("Terms of %1").arg(text(workspace()->selection()->head())),
        aboutModel(workspace()->model()->circuits(),
                   [circuits, tokenizer = workspace()->model()->tokenizer(),
                    words = m_words->text().toStdString(), options = workspace()->runs()->analysisOptions(),
                    head = workspace()->selection()->head()](const Task&) mutable -> Result<Found> {
                       options.inputs.prompt.clear();
                       if (tokenizer && !words.empty()) {
                           auto ids = tokenizer->encode(words, Tokenizer::SpecialTokens::None);
                           if (!ids)
                               return ids.error();
                           options.inputs.prompt = std::move(ids).value();
                       }
                       const ModelConfig& config = circuits->config();
                       const Eigen::Index longest = squareSide(config);
                       const auto shown =
                           shownTokens(config, options, std::min(termMapSampledTokens, longest), longest);
                       if (!shown)
                           return shown.error();
                       auto answer = std::make_shared<Answer>();
                       answer->tokens = shown->ids;
                       answer->warning = text(shown->warning);
                       answer->terms = scoreTerms(circuits->weights(), head,
                                                  promptParts(circuits->weights(), shown->ids));
                       return Found(std::move(answer));
                   }),
        [this](const Result<Found>& found) {
            m_panel->view()->setPending(false);
            if (!found)
                return clear(text(found.error()));
            m_answer = *found;
            showTerm();
        });
}

void TermMap::showTerm()
{
    if (!m_answer)
        return;
    HeatmapView* view = m_panel->view();
    QStringList labels;
    for (const int token : m_answer->tokens)
        labels << workspace()->model()->tokenText(token);
    view->setRowAxis(labelledAxis(tr("query"), labels));
    view->setColumnAxis(labelledAxis(tr("key"), labels));
    view->setMatrix(std::make_shared<const Eigen::MatrixXf>(
        termOf(m_answer->terms, m_term->currentIndex()).cast<float>()));
    m_note->setText(m_answer->warning);
    m_note->setVisible(!m_answer->warning.isEmpty());
}

QJsonObject TermMap::viewState() const
{
    return {{QStringLiteral("words"), m_words->text()},
            {QStringLiteral("term"), m_term->currentIndex()},
            {QStringLiteral("heatmap"), m_panel->viewState()}};
}

void TermMap::setViewState(const QJsonObject& state)
{
    m_words->setText(state[QStringLiteral("words")].toString());
    m_term->setCurrentIndex(std::clamp(state[QStringLiteral("term")].toInt(), 0, m_term->count() - 1));
    m_panel->setViewState(state[QStringLiteral("heatmap")].toObject());
    refresh();
}

QList<FigureSource*> TermMap::figures()
{
    if (!m_answer)
        return {};
    describe(m_panel->view(),
             tr("%1 %2, %3")
                 .arg(text(workspace()->selection()->head()), m_term->currentText(),
                      text(workspace()->model()->card().name)));
    return {m_panel->view()};
}

} // namespace headwise::ui
