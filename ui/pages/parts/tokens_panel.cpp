#include "ui/pages/parts/tokens_panel.h"

#include "core/circuits/block.h"
#include "core/results/stored_table.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/document/about_model.h"
#include "ui/document/glitch_tokens.h"
#include "ui/figures/figure_export_title.h"
#include "ui/pages/parts/fill_button.h"
#include "ui/pages/parts/offset_box.h"
#include "ui/pages/parts/token_ends_paper.h"
#include "ui/pages/parts/token_ends_tables.h"
#include "ui/widgets/table_cells.h"

#include <QLabel>
#include <QPainter>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

namespace headwise::ui {

namespace {
constexpr std::size_t answersKept = 64;
} // namespace

struct TokensPanel::Question {
    CircuitOfHead circuit;
    TableSide side = TableSide::Row;
    int token = 0;
    int length = 0;
    bool withBiased = false;
    bool isDirect = false;

    bool operator==(const Question& other) const
    {
        return circuit.kind == other.circuit.kind && circuit.head == other.circuit.head
            && circuit.terms == other.circuit.terms && side == other.side && token == other.token
            && length == other.length && withBiased == other.withBiased && isDirect == other.isDirect;
    }
};

struct TokensPanel::Answer {
    TokenEnds ends;
    std::optional<LineStatistics> line;                    // none if a session does not have it
    std::vector<double> biasedTop = {}, biasedBottom = {}; // for the entries of `ends`; empty: none
};

Result<RowVector<double>> TokensPanel::lineOf(const Question& question, const CircuitTerms& terms,
                                              const Circuits& circuits, const TokenSide& tokens)
{
    if (question.isDirect)
        return directPathLine(circuits, tokens, terms.biases, question.side, question.token);
    CircuitOfHead circuit = question.circuit;
    circuit.terms = terms;
    return tokenLine(circuits, tokens, circuit, question.side, question.token);
}

Result<TokensPanel::Answer> TokensPanel::answerTo(const Question& question, const Circuits& circuits,
                                                  const TokenSide& tokens, const std::vector<bool>& unused)
{
    const auto line = lineOf(question, question.circuit.terms, circuits, tokens);
    if (!line)
        return line.error();
    Answer answer{ends(*line, question.length, unused), lineStatistics(*line, unused)};
    if (!question.withBiased)
        return answer;
    CircuitTerms biased = question.circuit.terms;
    biased.biases = true;
    const auto second = lineOf(question, biased, circuits, tokens);
    if (!second)
        return second.error();
    for (const TokenEntry& entry : answer.ends.top)
        answer.biasedTop.push_back((*second)(entry.id));
    for (const TokenEntry& entry : answer.ends.bottom)
        answer.biasedBottom.push_back((*second)(entry.id));
    return answer;
}

TokensPanel::TokensPanel(Workspace* workspace, CircuitKind kind, QWidget* parent)
    : Page(workspace, parent)
    , m_kind(kind)
    , m_heading(new QLabel(this))
    , m_message(new QLabel(this))
    , m_fill(new FillButton(this))
    , m_tables(new TokenEndsTables(this))
{
    makeHeading(m_heading);
    makeSecondary(m_message);
    m_message->setAlignment(Qt::AlignCenter);
    m_message->setWordWrap(true);
    m_heading->setWordWrap(true); // does not set a minimum width
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(8);
    layout->addWidget(m_heading);
    layout->addWidget(m_message);
    layout->addWidget(m_fill, 0, Qt::AlignHCenter);
    layout->addWidget(m_tables, 1);
    showColumns();
    connect(m_tables, &TokenEndsTables::tokenActivated, this, &TokensPanel::tokenActivated);
    connect(m_tables, &TokenEndsTables::rowHovered, this, [this](const TokenRow& row) {
        emit readOutChanged(
            tr("%1 → %2 #%3   %4")
                .arg(this->workspace()->model()->tokenText(this->workspace()->selection()->token()),
                     row.shown)
                .arg(row.token)
                .arg(number(row.value)));
    });
    connect(workspace->selection(), &Selection::headChanged, this, &TokensPanel::refresh);
    connect(workspace->selection(), &Selection::tokenChanged, this, &TokensPanel::refresh);
    connect(GlitchTokens::of(workspace), &GlitchTokens::changed, this, &TokensPanel::refresh);
    const auto startAgain = [this] {
        m_answers.clear();
        m_next = 0;
        refresh();
    };
    for (const auto signal : {&OpenModel::tokensChanged, &OpenModel::circuitsChanged})
        connect(workspace->model(), signal, this, startAgain);
    connect(workspace->filteredTokens(), &FilteredTokens::changed, this, startAgain);
}

TokensPanel::~TokensPanel() = default;

void TokensPanel::setKind(CircuitKind kind)
{
    m_kind = kind;
    m_isDirect = false;
    showColumns();
    refresh();
}

void TokensPanel::setDirectPath()
{
    m_kind = CircuitKind::FullOv;
    m_isDirect = true;
    showColumns();
    refresh();
}

bool TokensPanel::hasScores() const
{
    return m_isDirect || m_kind == CircuitKind::FullQk;
}

bool TokensPanel::showsBiased() const
{
    return !m_tables->isCompact() && hasScores() && !m_terms.biases;
}

void TokensPanel::showColumns()
{
    // The rank in the whole row is shown only if the filter hides some; otherwise it equals the order on screen.
    m_tables->setColumns({m_showsIds, !m_filter.isEmpty(), showsBiased(), hasScores()});
}

void TokensPanel::setCompact(bool on)
{
    m_tables->setCompact(on);
    showColumns();
}

int TokensPanel::leastWidth() const
{
    return m_tables->leastWidth();
}

void TokensPanel::setSide(TableSide side)
{
    m_side = side;
    refresh();
}

void TokensPanel::setIdsShown(bool on)
{
    m_showsIds = on;
    showColumns();
}

void TokensPanel::setFilter(const QString& filter)
{
    m_filter = filter;
    showColumns();
    m_tables->setFilter(filter);
    refresh();
}

void TokensPanel::setTerms(const CircuitTerms& terms)
{
    m_terms = terms;
    showColumns();
    refresh();
}

void TokensPanel::setLength(int rows)
{
    m_length = rows;
    refresh();
}

QString TokensPanel::heading() const
{
    const QString token = workspace()->model()->tokenText(workspace()->selection()->token());
    if (m_isDirect)
        return m_side == TableSide::Row ? tr("direct path: next tokens after %1").arg(token)
                                        : tr("direct path: tokens before %1").arg(token);
    if (m_kind == CircuitKind::FullQk)
        return (m_side == TableSide::Row ? tr("Keys that the query %1 attends to").arg(token)
                                         : tr("Queries that attend to the key %1").arg(token))
            + offsetText(m_terms.offset);
    return m_side == TableSide::Row ? tr("Outputs when attending to %1").arg(token)
                                    : tr("Sources that promote the output %1").arg(token);
}

void TokensPanel::clear(const QString& message)
{
    m_job.cancel();
    m_tables->clear();
    m_message->setText(message);
    m_message->setVisible(!message.isEmpty());
    m_fill->offer(FillButton::lackOf(*workspace()));
}

void TokensPanel::recompute()
{
    if (!workspace()->model()->isOpen()) {
        m_heading->clear();
        return clear({});
    }
    m_heading->setText(heading());
    const HeadId head =
        m_isDirect ? HeadId{} : workspace()->selection()->head(); // one answer, whichever is selected
    const int token = workspace()->selection()->token();
    if (m_isDirect && !workspace()->model()->circuits())
        return clear(tr("The direct path needs the model's files; use File → Locate model…"));
    if (!workspace()->model()->circuits()) {
        const auto stored = storedEnds(*workspace()->model()->results(), m_kind, head, m_side, token);
        return stored
            ? show({*stored, storedStatistics(*workspace()->model()->results(), m_kind, head, m_side, token)})
            : clear(
                tr("This session has no table of %1; locate its model to see any token.").arg(text(head)));
    }
    if (!workspace()->model()->tokens())
        return clear(tr("Reading the embeddings…"));
    const Question question{{m_kind, head, m_terms},
                            m_side,
                            token,
                            m_filter.isEmpty() ? m_length : workspace()->model()->card().dVocab,
                            showsBiased(),
                            m_isDirect};
    if (const Answer* answer = kept(question)) {
        m_job.cancel();
        return show(*answer);
    }
    m_job.start(
        heading(),
        aboutModel(workspace()->model()->circuits(),
                   [circuits = workspace()->model()->circuits(), tokens = workspace()->model()->tokens(),
                    unused = workspace()->filteredTokens()->unused(), question](const Task&)
                       -> Result<Answer> { return answerTo(question, *circuits, *tokens, unused); }),
        [this, question](const Result<Answer>& result) {
            if (!result)
                return clear(text(result.error()));
            if (m_filter.isEmpty()) // not whole vocabularies
                keep(question, *result);
            show(*result);
        });
}

const TokensPanel::Answer* TokensPanel::kept(const Question& question) const
{
    const auto found = std::ranges::find(m_answers, question, &std::pair<Question, Answer>::first);
    return found == m_answers.end() ? nullptr : &found->second;
}

void TokensPanel::keep(const Question& question, const Answer& answer)
{
    if (m_answers.size() < answersKept)
        return void(m_answers.emplace_back(question, answer));
    m_answers[m_next] = {question, answer};
    m_next = (m_next + 1) % answersKept;
}

void TokensPanel::show(const Answer& answer)
{
    const auto rows = [this, &answer](const std::vector<TokenEntry>& entries,
                                      const std::vector<double>& biased) {
        auto made = std::make_shared<std::vector<TokenRow>>();
        const auto tokenizer = workspace()->model()->tokenizer();
        for (const TokenEntry& entry : entries) {
            made->push_back({entry.id, workspace()->model()->tokenText(entry.id), entry.value,
                             tokenizer && tokenizer->isSpecial(entry.id),
                             entry.id == workspace()->selection()->token()});
            if (answer.line) {
                made->back().zScore = answer.line->zScore(entry.value);
                made->back().share = answer.line->share(entry.value);
            }
            made->back().quoted = quotedToken(*workspace(), entry.id);
            made->back().isGlitch = GlitchTokens::of(workspace())->contains(entry.id);
            if (!biased.empty())
                made->back().biased = biased[made->size() - 1];
        }
        return made;
    };
    m_message->hide();
    m_fill->offer(FillButton::Lack::Nothing);
    double largest = 0; // common scale of both ends
    for (const auto* end : {&answer.ends.top, &answer.ends.bottom})
        for (const TokenEntry& entry : *end)
            largest = std::fmax(largest, std::abs(entry.value));
    m_tables->setRows(rows(answer.ends.top, answer.biasedTop), rows(answer.ends.bottom, answer.biasedBottom),
                      largest);
}

QList<FigureSource*> TokensPanel::figures()
{
    if (!m_tables->top().rows())
        return {};
    describe(this,
             m_isDirect ? heading() : tr("%1 %2").arg(text(workspace()->selection()->head()), heading()));
    return {this};
}

void TokensPanel::paintFigure(QPainter& painter, const QSizeF& size, const FigureStyle& style) const
{
    const double top = paintFigureTitle(painter, *this, size.width(), style);
    paintTokenEnds(painter, {0, top, size.width(), size.height() - top}, m_tables->top(), m_tables->bottom(),
                   style);
}

QStringList TokensPanel::omissions(const QSizeF& size, const FigureStyle& style) const
{
    PaintRecording page(size, std::nullopt);
    QPainter painter(&page);
    const double top = paintFigureTitle(painter, *this, size.width(), style);
    const int fitting = tokenRowsOn(size.height() - top, style, &page);
    int rows = 0;
    for (const TokenTableModel* model : {&m_tables->top(), &m_tables->bottom()})
        if (model->rows())
            rows = std::max(rows, static_cast<int>(model->rows()->size()));
    return fitting < rows ? QStringList{tr("the first %1 of %2 rows").arg(fitting).arg(rows)} : QStringList();
}

void TokensPanel::forEachDataRow(const std::function<void(const QStringList&)>& writeRow) const
{
    writeTokenEnds(m_tables->top(), m_tables->bottom(), writeRow);
}

} // namespace headwise::ui
