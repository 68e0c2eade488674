#include "ui/pages/scores/scores_page.h"

#include "core/analysis/shared/positions_shown.h"
#include "core/runs/plan.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/base/window_words.h"
#include "ui/charts/spectrum_chart.h"
#include "ui/document/about_model.h"
#include "ui/pages/parts/figure_row.h"
#include "ui/pages/parts/figure_subject.h"
#include "ui/pages/parts/invitation.h"
#include "ui/pages/parts/picture_panel.h"
#include "ui/pages/parts/token_filter_button.h"
#include "ui/pages/scores/prefix_table.h"
#include "ui/pages/scores/query_chooser.h"
#include "ui/pages/scores/rotary_terms.h"
#include "ui/pages/scores/term_map.h"
#include "ui/widgets/job_bar.h"

#include <QLabel>
#include <QPushButton>
#include <QSplitter>
#include <QVBoxLayout>

#include <initializer_list>
#include <optional>

namespace headwise::ui {

namespace {

constexpr int scoresPageSampledTokens = 512; // first sample for large vocabularies

const LineChart* chartOf(const PicturePanel* panel)
{
    return panel->findChild<const LineChart*>();
}

const std::string sixTerms = "analyses/six_terms/";

/// A term by key position. \param name of its array in the analysis \param title empty: the analysis' own
ResultArray byKey(const char* name, const RowVector<double>& values, const QString& title = {})
{
    ResultArray array =
        shownArray(sixTerms + name, Axis::Key, {values.data(), values.data() + values.size()});
    if (!title.isEmpty())
        array.title = title.toStdString();
    return array;
}

void showLines(PicturePanel* panel, const QString& title, std::vector<ResultArray> arrays)
{
    Picture picture{.kind = Picture::Kind::Lines, .title = title.toStdString(), .arrays = {}};
    for (const ResultArray& array : arrays)
        picture.arrays.push_back(array.path);
    panel->showPicture(picture, {.arrays = std::move(arrays), .groupAttributes = {}, .warnings = {}});
}

} // namespace

/// Divisors of layer 0's norm for one model.
struct ScoresPage::Norms {
    std::shared_ptr<const Circuits> circuits;
    Matrix<double> positions; // [n, d]
    DivisorSpread spread;
    std::shared_ptr<const MeanDivided> tokens; // null if the spread is over a sample

    static Result<std::shared_ptr<const Norms>> read(const std::shared_ptr<const Circuits>& circuits,
                                                     const AnalysisOptions& options, Extent extent,
                                                     const Task& task)
    {
        const ProcessedWeights& weights = circuits->weights();
        auto spread = extent == Extent::All
            ? divisorSpread(weights, options.unusedTokens, options.precision, task)
            : sampledDivisorSpread(weights, options.unusedTokens, scoresPageSampledTokens, task);
        if (!spread)
            return spread.error();
        auto tokens = extent == Extent::All ? std::make_shared<const MeanDivided>(weights, *spread) : nullptr;
        return std::make_shared<const Norms>(
            Norms{circuits, seenPositions(weights, 0, shownPositions(weights.config())),
                  std::move(spread).value(), std::move(tokens)});
    }
};

ScoresPage::ScoresPage(Workspace* workspace, QWidget* parent)
    : Page(workspace, parent)
    , m_query(new QueryChooser(workspace, this))
    , m_state(new QLabel(this))
    , m_layer0(new QPushButton(this))
    , m_body(new QWidget(this))
    , m_prior(new PicturePanel(workspace, Picture::Kind::Lines, tr("T^p"), m_body))
    , m_pairs(new PicturePanel(workspace, Picture::Kind::Lines, tr("T^pp"), m_body))
    , m_pattern(new PicturePanel(workspace, Picture::Kind::Lines, tr("Attention of positions"), m_body))
    , m_figure(new FigureRow({{chartOf(m_prior), tr("T^p")},
                              {chartOf(m_pairs), tr("T^pp")},
                              {chartOf(m_pattern), tr("softmax((T^pp + T^p)/√r)")}},
                             this))
    , m_map(new TermMap(workspace, m_body))
    , m_prefixes(new PrefixTable(workspace, m_body))
    , m_rotary(new RotaryTerms(workspace, this))
{
    setPictureName(m_figure, tr("Figure 3 of Kamoda et al. 2025"));
    createLayout();
    connectSignals();
}

QWidget* ScoresPage::createCharts()
{
    for (PicturePanel* panel : {m_prior, m_pairs, m_pattern})
        connect(panel, &Page::readOutChanged, this, &Page::readOutChanged);
    auto* charts = new QSplitter(Qt::Vertical, m_body);
    charts->setChildrenCollapsible(false);
    charts->addWidget(m_prior);
    charts->addWidget(m_pairs);
    charts->addWidget(m_pattern);
    charts->setSizes({200, 260, 200}); // the middle has most lines and names
    return charts;
}

void ScoresPage::createLayout()
{
    auto* right = new QSplitter(Qt::Vertical, m_body);
    right->setChildrenCollapsible(false);
    right->addWidget(m_map);
    right->addWidget(m_prefixes);
    right->setSizes({400, 240});
    auto* parts = new QSplitter(m_body);
    parts->setChildrenCollapsible(false);
    parts->setHandleWidth(16);
    parts->addWidget(createCharts());
    parts->addWidget(right);
    parts->setSizes({420, 580}); // fits six columns of prefixes without a scroll bar
    auto* body = new QVBoxLayout(m_body);
    body->setContentsMargins(0, 0, 0, 0);
    body->setSpacing(8);
    body->addWidget(m_query);
    body->addWidget(parts, 1);
    m_rotary->hide();
    m_state->setWordWrap(true);
    makeSecondary(m_state);
    m_below = new QHBoxLayout;
    m_below->setSpacing(8);
    m_below->addWidget(m_state, 1);
    m_below->addWidget(new TokenFilterButton(workspace(), TokenFilterButton::Role::Notice, this));
    m_below->addWidget(m_layer0);
    m_below->addWidget(new JobBar(&m_normsJob, this));
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(12, 12, 12, 12);
    layout->setSpacing(8);
    layout->addWidget(m_body, 1);
    layout->addWidget(m_rotary, 1);
    layout->addLayout(m_below);
}

void ScoresPage::connectSignals()
{
    connect(m_query, &QueryChooser::changed, this, &ScoresPage::showTerms);
    connect(m_layer0, &QPushButton::clicked, this, [this] {
        workspace()->selection()->setHead({0, workspace()->selection()->head().head});
    });
    for (Page* part : std::initializer_list<Page*>{m_query, m_map, m_prefixes, m_rotary})
        connect(part, &Page::readOutChanged, this, &Page::readOutChanged);
    for (const auto signal : {&OpenModel::opened, &OpenModel::closed, &OpenModel::circuitsChanged})
        connect(workspace()->model(), signal, this, &ScoresPage::refresh);
    connect(workspace()->selection(), &Selection::headChanged, this, &ScoresPage::refresh);
    connect(workspace()->filteredTokens(), &FilteredTokens::changed, this, [this] {
        m_norms.reset(); // averaged over the tokens that are looked at
        refresh();
    });
    connect(workspace()->selection(), &Selection::tokenChanged, this, [this] {
        m_query->followToken();
        if (isVisible())
            showTerms();
    });
}

void ScoresPage::clear(const QString& message)
{
    m_normsJob.cancel();
    m_termsJob.cancel();
    m_norms.reset();
    m_terms.reset();
    m_prefixes->setTokens(nullptr);
    for (PicturePanel* panel : {m_prior, m_pairs, m_pattern})
        panel->showMessage({});
    m_body->hide();
    m_rotary->hide();
    m_layer0->hide();
    m_state->setText(message);
    arrangeInvitation(m_below, m_state, true);
}

namespace {

AnalysisOptions optionsOf(const Workspace& workspace)
{
    AnalysisOptions options = workspace.runs()->analysisOptions();
    options.heads = {{0, workspace.selection()->head().head}};
    return options;
}

/// Explains why the scores are no sum of terms of tokens and learned positions; empty if they are.
std::string whyNoTerms(const Workspace& workspace, const Circuits& circuits)
{
    return whyLeftOut(*findAnalysis("six_terms"), circuits.config(), optionsOf(workspace));
}

bool hasRotaryTerms(const Workspace& workspace, const Circuits& circuits)
{
    return !whyNoTerms(workspace, circuits).empty()
        && whyLeftOut(*findAnalysis("rotary"), circuits.config(), optionsOf(workspace)).empty();
}

} // namespace

std::vector<ConfigField> ScoresPage::neededFields()
{
    return findAnalysis("rotary")->needs.config;
}

QString ScoresPage::whyNot(const Workspace& workspace)
{
    if (!workspace.model()->isOpen())
        return {};
    const auto circuits = workspace.model()->circuits();
    if (!circuits)
        return tr("The terms of scores need the model's files; use File → Locate model…");
    if (const std::string why = whyUnknown(circuits->config(), neededFields()); !why.empty())
        return windowWords(text(why));
    return hasRotaryTerms(workspace, *circuits) ? QString()
                                                : windowWords(text(whyNoTerms(workspace, *circuits)));
}

void ScoresPage::showRotary()
{
    if (!m_rotary->isHidden())
        return; // It follows the selection itself.
    clear({});
    arrangeInvitation(m_below, m_state, false);
    m_rotary->show();
}

void ScoresPage::recompute()
{
    if (!workspace()->model()->isOpen())
        return clear({});
    if (const QString why = whyNot(*workspace()); !why.isEmpty())
        return clear(why);
    if (hasRotaryTerms(*workspace(), *workspace()->model()->circuits()))
        return showRotary();
    m_rotary->hide();
    const auto circuits = workspace()->model()->circuits();
    const HeadId head = workspace()->selection()->head();
    const bool isLayer0 = head.layer == 0;
    m_body->setVisible(isLayer0);
    m_layer0->setVisible(!isLayer0);
    arrangeInvitation(m_below, m_state, !isLayer0);
    m_layer0->setText(tr("Show %1").arg(text(HeadId{0, head.head})));
    if (!isLayer0) {
        m_termsJob.cancel();
        return m_state->setText(
            tr("%1 reads a stream that earlier layers have changed. Only heads of layer 0 read tokens and positions unchanged.")
                .arg(text(head)));
    }
    const auto n = static_cast<int>(shownPositions(circuits->config()));
    m_query->setPositions(n, m_wantedQuery >= 0 ? std::optional(m_wantedQuery) : std::nullopt);
    m_wantedQuery = -1;
    m_query->followToken();
    if (m_norms && m_norms->circuits == circuits)
        return readTerms();
    m_norms.reset();
    readNorms(circuits->config().dVocab > 8 * scoresPageSampledTokens ? Extent::Sample : Extent::All);
}

void ScoresPage::readNorms(Extent extent)
{
    if (!m_norms)
        m_state->setText(tr("Reading the norm of every token at every position…"));
    m_normsJob.start(extent == Extent::All ? tr("Norms of tokens and positions")
                                           : tr("Norms of some tokens and positions"),
                     aboutModel(workspace()->model()->circuits(),
                                [circuits = workspace()->model()->circuits(),
                                 options = workspace()->runs()->analysisOptions(), extent](const Task& task) {
                                    return Norms::read(circuits, options, extent, task);
                                }),
                     [this](const Result<std::shared_ptr<const Norms>>& found) {
                         if (!found)
                             return clear(text(found.error()));
                         m_norms = *found;
                         if (m_norms->tokens)
                             m_prefixes->setTokens(m_norms->tokens);
                         if (workspace()->selection()->head().layer == 0)
                             readTerms();
                     });
}

void ScoresPage::readTerms()
{
    using Found = std::shared_ptr<const PositionTerms>;
    m_termsJob.start(
        tr("Positions of %1").arg(text(workspace()->selection()->head())),
        aboutModel(workspace()->model()->circuits(),
                   [norms = m_norms, head = workspace()->selection()->head()](const Task&) -> Result<Found> {
                       return std::make_shared<const PositionTerms>(norms->circuits->weights(), head,
                                                                    norms->positions, norms->spread);
                   }),
        [this, norms = m_norms](const Result<Found>& found) {
            if (!found)
                return clear(text(found.error()));
            takeTerms(*found, norms);
        });
}

void ScoresPage::takeTerms(std::shared_ptr<const PositionTerms> terms,
                           const std::shared_ptr<const Norms>& norms)
{
    m_terms = std::move(terms);
    m_isFirstLook = !norms->tokens;
    showLines(m_prior, tr("T^p"),
              {byKey("p_by_position", m_terms->p), byKey("p_by_position_low", m_terms->pLow),
               byKey("p_by_position_high", m_terms->pHigh)});
    showTerms();
    if (m_isFirstLook && !m_normsJob.isRunning())
        readNorms(Extent::All);
}

void ScoresPage::showTerms()
{
    const auto circuits = workspace()->model()->circuits();
    if (!m_terms || !circuits || m_query->position() >= m_terms->size())
        return;
    const QueryTerms found = m_terms->at(m_query->position());
    const QueryTokenTerms with = m_terms->at(m_query->position(), m_query->token());
    const QString token = workspace()->model()->tokenText(m_query->token());
    showLines(m_pairs, tr("T^pp"),
              {byKey("pp_by_position", found.pp, tr("T^pp, mean σ_i")),
               byKey("pp_by_position_low", found.ppLow), byKey("pp_by_position_high", found.ppHigh),
               byKey("pp_at_min_sigma", found.ppAtMinSigma), byKey("pp_at_max_sigma", found.ppAtMaxSigma),
               byKey("ep_of_token", with.ep, tr("T^ep of %1").arg(token))});
    showLines(m_pattern, tr("Attention of positions"),
              {byKey("position_pattern", found.pattern),
               byKey("pattern_with_token", with.pattern, tr("Attention with T^ep of %1").arg(token))});
    const QString over = m_isFirstLook ? tr("a sample of tokens so far") : tr("the vocabulary");
    m_state->setText(tr("Query position %1 · %2 (σ = %3) · 1/σ of the keys averaged over %4")
                         .arg(m_query->position())
                         .arg(token, number(with.sigma), over));
}

ViewFields ScoresPage::viewFields()
{
    return ViewFields()
        .add(
            "position", [this] { return m_wantedQuery >= 0 ? m_wantedQuery : m_query->position(); },
            [this](const QJsonValue& position) { m_wantedQuery = position.toInt(-1); })
        .addPart("map", m_map)
        .then([this] { refresh(); });
}

QList<FigureSource*> ScoresPage::figures()
{
    if (!m_rotary->isHidden())
        return m_rotary->figures();
    if (!m_terms || m_isFirstLook || m_body->isHidden())
        return {};
    const QString of = tr("%1, i = %2, %3")
                           .arg(text(workspace()->selection()->head()))
                           .arg(m_query->position())
                           .arg(text(workspace()->model()->card().name));
    describe(m_figure, tr("figure 3 of Kamoda et al. 2025, %1").arg(of));
    QList<FigureSource*> all{m_figure};
    for (PicturePanel* panel : {m_prior, m_pairs, m_pattern})
        all += panel->figures();
    return all + m_map->figures() + m_prefixes->figures();
}

} // namespace headwise::ui
