#include "ui/pages/scores/term_map.h"

#include "core/analysis/shared/positions_shown.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/document/about_model.h"
#include "ui/pages/parts/picture_panel.h"

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
struct ShownTerm {
    const char *title, *array;
};
constexpr std::array shownTerms{ShownTerm{"T^ee", "ee"}, ShownTerm{"T^ee without σ", "ee_without_norm"},
                                ShownTerm{"T^ep", "ep"}, ShownTerm{"T^pe", "pe"},
                                ShownTerm{"T^pp", "pp"}, ShownTerm{"Score", "score"}};

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
    , m_picture(new PicturePanel(workspace, Picture::Kind::Matrix, tr("Term of every pair of tokens"), this))
{
    createLayout();
    connect(m_words, &QLineEdit::returnPressed, this, &TermMap::refresh);
    connect(m_term, &QComboBox::currentIndexChanged, this, &TermMap::showTerm);
    connect(m_picture, &Page::readOutChanged, this, &Page::readOutChanged);
    connect(workspace->model(), &OpenModel::replaced, m_words, &QLineEdit::clear);
    for (const auto signal : {&OpenModel::opened, &OpenModel::closed, &OpenModel::circuitsChanged})
        connect(workspace->model(), signal, this, &TermMap::refresh);
    connect(workspace->selection(), &Selection::headChanged, this, &TermMap::refresh);
    connect(workspace->filteredTokens(), &FilteredTokens::changed, this, &TermMap::refresh);
}

void TermMap::createLayout()
{
    m_words->setPlaceholderText(tr("Words; empty: random"));
    m_words->setAccessibleName(tr("Words of the map"));
    m_words->setFont(tokenFont());
    m_words->setTextMargins(4, 0, 4, 0);
    for (const ShownTerm& term : shownTerms)
        m_term->addItem(text(term.title));
    m_term->setAccessibleName(tr("Term of the score"));
    makeSecondary(m_note);
    m_note->setWordWrap(true);
    keepPlace(m_note);
    m_note->hide();
    auto* controls = new QHBoxLayout;
    controls->setSpacing(8);
    controls->addWidget(m_term);
    controls->addWidget(m_words, 1);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(8);
    layout->addLayout(controls);
    layout->addWidget(m_picture, 1);
    layout->addWidget(m_note);
}

void TermMap::clear(const QString& message)
{
    m_job.cancel();
    m_answer.reset();
    m_picture->showMessage(message);
    m_note->hide();
}

void TermMap::recompute()
{
    const auto circuits = workspace()->model()->circuits();
    m_words->setEnabled(workspace()->model()->tokenizer() != nullptr);
    if (!workspace()->model()->isOpen() || !circuits || workspace()->selection()->head().layer > 0)
        return clear({});
    using Found = std::shared_ptr<const Answer>;
    m_picture->setPending(true);
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
    ResultArray array =
        shownMatrix("analyses/six_terms/"
                        + std::string(shownTerms[static_cast<std::size_t>(m_term->currentIndex())].array),
                    {Axis::Query, Axis::Key}, termOf(m_answer->terms, m_term->currentIndex()));
    ResultArray ids =
        shownArray("analyses/six_terms/tokens", Axis::Query, std::vector<double>(m_answer->tokens.size()));
    ids.values = std::vector<std::int32_t>(m_answer->tokens.begin(), m_answer->tokens.end());
    const Picture picture{
        .kind = Picture::Kind::Matrix, .title = m_term->currentText().toStdString(), .arrays = {array.path}};
    m_picture->showPicture(
        picture, {.arrays = {std::move(array), std::move(ids)}, .groupAttributes = {}, .warnings = {}});
    m_note->setText(m_answer->warning);
    m_note->setVisible(!m_answer->warning.isEmpty());
}

ViewFields TermMap::viewFields()
{
    return ViewFields().add("words", m_words).add("term", m_term).addPart("heatmap", m_picture).then([this] {
        refresh();
    });
}

QList<FigureSource*> TermMap::figures()
{
    return m_picture->figures();
}

} // namespace headwise::ui
