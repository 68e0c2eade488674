#include "ui/pages/prompt/prompt_page.h"

#include "core/analysis/catalogue.h"
#include "core/analysis/prompt/pattern_file.h"
#include "core/analysis/prompt/value_norms.h"
#include "core/runs/plan.h"
#include "core/tokenizer/token_search.h"
#include "ui/base/text.h"
#include "ui/base/window_words.h"
#include "ui/charts/pattern_grid.h"
#include "ui/charts/prompt_text.h"
#include "ui/document/about_model.h"
#include "ui/document/head_metrics.h"
#include "ui/document/imported_attention.h"
#include "ui/heatmaps/heatmap_panel.h"
#include "ui/heatmaps/heatmap_subjects.h"
#include "ui/pages/parts/figure_subject.h"
#include "ui/pages/parts/first_prompt.h"
#include "ui/pages/parts/head_grid.h"
#include "ui/pages/parts/linked_hover.h"

#include <QAction>
#include <QCheckBox>
#include <QFileDialog>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>

#include <algorithm>
#include <filesystem>
#include <utility>

namespace headwise::ui {

namespace {
constexpr Eigen::Index smallSide = 64; // rows of a thumbnail
}

struct PromptPage::Answer {
    QString prompt;
    bool isWeighted = false; // attention times ‖v W_O‖
    std::vector<int> tokens;
    std::shared_ptr<const Patterns> patterns, small;   // [layer][head]: [n, n]
    std::shared_ptr<const Patterns> smallWithoutFirst; // the same without position 0; null for one token
    int likeliestNext = 0;
    QString importedFrom;              // empty: computed by the model
    ImportedAttention::Array imported; // the same numbers for the session; null: computed by the model

    void setPatterns(Patterns all);
};

void PromptPage::Answer::setPatterns(Patterns all)
{
    small = std::make_shared<const Patterns>(smallPatterns(all, smallSide));
    if (tokens.size() > 1)
        smallWithoutFirst = std::make_shared<const Patterns>(smallPatterns(all, smallSide, 1));
    patterns = std::make_shared<const Patterns>(std::move(all));
}

namespace {

/// Multiplies every pattern's columns by the norm of the value vector that the head moves.
void weigh(const ProcessedWeights& weights, ForwardResult<float>& run)
{
    const ValueNorms<float> norms(weights, run);
    for (std::size_t layer = 0; layer < run.patterns.size(); ++layer)
        for (std::size_t head = 0; head < run.patterns[layer].size(); ++head)
            run.patterns[layer][head] *=
                norms.of({static_cast<int>(layer), static_cast<int>(head)}).cast<float>().asDiagonal();
}

} // namespace

PromptPage::PromptPage(Workspace* workspace, QWidget* parent)
    : Page(workspace, parent)
    , m_prompt(new QLineEdit(this))
    , m_run(new QPushButton(tr("Run"), this))
    , m_import(new QPushButton(tr("Import…"), this))
    , m_hidesFirst(new QCheckBox(tr("hide first token"), this))
    , m_weighs(new QCheckBox(tr("weigh by values"), this))
    , m_summary(new QLabel(this))
    , m_heads(new PatternGrid(this))
    , m_logit(new QLabel(this))
    , m_effects(new HeadGrid(workspace, tr("Effect of every head on the logit"), this))
    , m_text(new PromptText(this))
    , m_panel(new HeatmapPanel(this))
    , m_askForScore(new QAction(tr("Where this score comes from"), this))
{
    createLayout();
    connectSignals();
    connectText();
    connectScores();
    reset();
}

std::optional<int> PromptPage::tokenOf(int shown) const
{
    const auto at = static_cast<std::size_t>(shown + skipped());
    return shown >= 0 && m_answer && at < m_answer->tokens.size() ? std::optional(m_answer->tokens[at])
                                                                  : std::nullopt;
}

QString PromptPage::placeText(int shown) const
{
    const auto at = static_cast<std::size_t>(shown + skipped());
    return QStringLiteral("%1 %2").arg(at).arg(workspace()->model()->tokenText(m_answer->tokens[at]));
}

void PromptPage::connectText()
{
    HeatmapView* view = m_panel->view();
    connect(view->colors(), &HeatmapColors::scaleChanged, m_text, &PromptText::setScale);
    connect(view->zoom(), &HeatmapZoom::currentCellChanged, m_text, [this](int row) {
        if (row >= 0)
            m_text->setQuery(row);
    });
    connect(m_text, &PromptText::queryChosen, view,
            [view](int query) { view->zoom()->setCurrentCell(query, std::max(0, view->state().column)); });
    connect(m_text, &PromptText::hoverLeft, this, [this] { emit readOutChanged({}); });
    connect(m_text, &PromptText::tokenHovered, this, [this](int token) {
        emit readOutChanged(tr("%1 of query %2").arg(measure(), placeText(token)));
    });
}

void PromptPage::connectSignals()
{
    connect(m_run, &QPushButton::clicked, this, &PromptPage::runItself);
    connect(m_import, &QPushButton::clicked, this, &PromptPage::chooseFile);
    connect(m_prompt, &QLineEdit::returnPressed, this, &PromptPage::runItself);
    connect(m_hidesFirst, &QCheckBox::toggled, this, [this] {
        fitColors();
        showPatterns();
    });
    connect(m_weighs, &QCheckBox::toggled, this, &PromptPage::run);
    connect(workspace()->model(), &OpenModel::replaced, this, [this] {
        m_suggested.clear(); // The next model's own words come with reset().
        m_prompt->clear();
    });
    for (const auto signal : {&OpenModel::circuitsChanged, &OpenModel::closed})
        connect(workspace()->model(), signal, this, &PromptPage::reset);
    connect(workspace()->selection(), &Selection::headChanged, this, &PromptPage::showPattern);
    connect(workspace()->filteredTokens(), &FilteredTokens::changed, this, [this] {
        if (m_answer && workspace()->model()->circuits())
            attribute();
    });
    connect(m_heads, &PatternGrid::headChosen, workspace()->selection(), &Selection::setHead);
    connect(m_heads, &PatternGrid::headReferenced, this,
            [this](HeadId head) { workspace()->selection()->setReference(head); });
    linkHover(m_heads, workspace()->selection());
    connect(m_heads, &PatternGrid::headHovered, this,
            [this](HeadId head) { emit readOutChanged(text(head)); });
    connect(m_effects, &HeadGrid::headHovered, this, [this](HeadId head) {
        const double z = m_zScores.size() > 0 ? m_zScores(head.layer, head.head) : std::nan("");
        emit readOutChanged(tr("%1   %2 logits, z %3 among all tokens")
                                .arg(text(head), signedNumber(m_effects->value(head)), signedNumber(z)));
    });
    connect(m_heads, &PatternGrid::hoverLeft, this, [this] { emit readOutChanged({}); });
    connect(m_effects, &HeadGrid::hoverLeft, this, [this] { emit readOutChanged({}); });
    connect(m_panel->view(), &HeatmapView::hoverLeft, this, [this] { emit readOutChanged({}); });
    connect(m_panel->view(), &HeatmapView::cellHovered, this, [this](int row, int column, float value) {
        emit readOutChanged(
            tr("query %1 → key %2   %3").arg(placeText(row), placeText(column), number(value)));
    });
}

void PromptPage::connectScores()
{
    HeatmapView* view = m_panel->view();
    view->setToolTip(tr("Double-click or press Enter to split a query's score with a key into its sources"));
    view->addAction(m_askForScore);
    connect(m_askForScore, &QAction::triggered, this, [this, view] {
        if (const QPoint cell = m_askForScore->data().toPoint(); m_askForScore->data().isValid())
            view->zoom()->setCurrentCell(cell.y(), cell.x());
        askForScore();
    });
    setCellSubjects(view, [this](int, int column) { return Subject{.token = tokenOf(column)}; });
    setSubjects(m_text, [this](const QPoint& position) {
        return Subject{.token = tokenOf(m_text->tokenAt(position))};
    });
    connect(view, &HeatmapView::cellActivated, this, [this, view](int row, int column) {
        view->zoom()->setCurrentCell(row, column);
        askForScore();
    });
    connect(view, &QWidget::customContextMenuRequested, this, [this, view](const QPoint& at) {
        const std::optional<QPoint> cell = view->cells().at(at);
        m_askForScore->setData(cell ? QVariant(*cell) : QVariant());
        // Imported attention does not come from this model's scores.
        m_askForScore->setVisible(cell && cell->x() <= cell->y() && m_answer && !m_answer->imported);
    });
}

void PromptPage::askForScore()
{
    const HeatmapState& state = m_panel->view()->state();
    if (!m_answer || m_answer->imported || state.row < 0 || state.column > state.row)
        return;
    const int skip = static_cast<int>(skipped());
    emit scoreWanted(m_answer->prompt, state.row + skip, state.column + skip);
}

void PromptPage::clear()
{
    m_answer.reset();
    m_importJob.cancel();
    m_attribution.cancel();
    m_summary->clear();
    m_logit->clear();
    m_heads->setPatterns(nullptr, nullptr);
    m_effects->setValues(nullptr);
    m_panel->view()->setMatrix(nullptr);
    m_text->setPattern({}, nullptr);
}

std::vector<ConfigField> PromptPage::neededFields()
{
    return forwardFields();
}

QString PromptPage::whyNot(const Workspace& workspace)
{
    const OpenModel& model = *workspace.model();
    return model.isOpen() && !model.hasModel() ? tr("A prompt needs the model's files.") : QString();
}

void PromptPage::reset()
{
    m_job.cancel();
    clear();
    const bool possible = workspace()->model()->circuits() != nullptr;
    m_prompt->setPlaceholderText(promptHint(*workspace()->model()));
    if (possible && m_prompt->text() == m_suggested) {
        m_suggested = firstPrompt(*workspace()->model());
        m_prompt->setText(m_suggested);
        m_prompt->setCursorPosition(0); // shows its beginning
    }
    m_prompt->setEnabled(possible);
    m_run->setEnabled(possible);
    m_import->setEnabled(possible);
    m_panel->view()->setMessage(possible ? tr("Type a prompt to see where this head looks.")
                                         : whyNot(*workspace()));
    if (possible && isVisible())
        run();
}

void PromptPage::showEvent(QShowEvent* event)
{
    Page::showEvent(event);
    if (!m_answer && !m_job.isRunning())
        run();
}

void PromptPage::runItself()
{
    ImportedAttention::of(workspace())->forget();
    run();
}

void PromptPage::run()
{
    if (!workspace()->model()->circuits() || m_prompt->text().isEmpty())
        return;
    using Found = std::shared_ptr<const Answer>;
    m_panel->view()->setPending(true);
    m_job.start(
        tr("Running the prompt"),
        aboutModel(workspace()->model()->circuits(),
                   [circuits = workspace()->model()->circuits(),
                    tokenizer = workspace()->model()->tokenizer(), prompt = m_prompt->text().toStdString(),
                    isWeighted = m_weighs->isChecked()](const Task& task) -> Result<Found> {
                       auto tokens =
                           promptTokens(prompt, tokenizer.get(), circuits->weights().config().dVocab);
                       if (!tokens)
                           return tokens.error();
                       auto run = forward<float>(circuits->weights(), *tokens, task);
                       if (!run)
                           return run.error();
                       ForwardResult<float> passed = *std::move(run);
                       auto answer = std::make_shared<Answer>();
                       answer->prompt = text(prompt);
                       answer->isWeighted = isWeighted;
                       if (isWeighted)
                           weigh(circuits->weights(), passed);
                       answer->tokens = *tokens;
                       answer->setPatterns(std::move(passed.patterns));
                       Eigen::Index best = 0;
                       passed.logits.row(passed.logits.rows() - 1).maxCoeff(&best);
                       answer->likeliestNext = static_cast<int>(best);
                       return Found(std::move(answer));
                   }),
        [this](const Result<Found>& result) {
            m_panel->view()->setPending(false);
            if (!result) {
                clear();
                m_panel->view()->setAccessibleDescription(text(result.error()));
                return m_panel->view()->setMessage(text(result.error()));
            }
            take(*result);
            attribute();
            showKept();
        });
}

void PromptPage::take(std::shared_ptr<const Answer> answer)
{
    const bool wasWeighted = m_answer && m_answer->isWeighted;
    m_answer = std::move(answer);
    const QSignalBlocker quiet(m_weighs);
    m_weighs->setChecked(m_answer->isWeighted);
    m_weighs->setEnabled(!m_answer->imported); // imported attention has no value vectors
    if (m_answer->isWeighted != wasWeighted)
        fitColors();
    showPatterns();
}

void PromptPage::chooseFile()
{
    auto* dialog = new QFileDialog(this, tr("Import attention"), QString(),
                                   tr("Attention (*.npy *.h5 *.hdf5);;All files (*)"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::ExistingFile);
    connect(dialog, &QFileDialog::fileSelected, this, &PromptPage::importPatterns);
    dialog->open();
}

PatternSizes PromptPage::sizes() const
{
    const ModelCard& card = workspace()->model()->card();
    return {card.nLayers, card.nHeads, static_cast<int>(m_answer->tokens.size()),
            workspace()->selection()->head().layer};
}

std::vector<std::string> PromptPage::shownTokens() const
{
    std::vector<std::string> shown;
    for (const int token : m_answer->tokens)
        shown.push_back(workspace()->model()->tokenText(token).toStdString());
    return shown;
}

void PromptPage::importPatterns(const QString& fileName)
{
    if (m_answer)
        takePatterns([path = std::filesystem::path(fileName.toStdString()),
                      sizes = sizes()](const Task& task) { return readPatternFile(path, sizes, task); });
}

void PromptPage::showKept()
{
    const ImportedAttention::Array kept = ImportedAttention::of(workspace())->array();
    if (!kept)
        return;
    const auto labels = kept->attributes.find("labels");
    if (labels != kept->attributes.end() && labels->second == AttributeValue(shownTokens()))
        takePatterns([kept, sizes = sizes()](const Task&) { return patternsIn(*kept, sizes); });
}

void PromptPage::takePatterns(std::function<Result<PatternFile>(const Task&)> read)
{
    using Found = std::shared_ptr<const Answer>;
    m_importJob.start(
        tr("Importing attention"),
        [read = std::move(read), shown = shownTokens(), own = m_answer](const Task& task) -> Result<Found> {
            auto file = read(task);
            if (!file)
                return file.error();
            PatternFile imported = std::move(file).value();
            auto answer = std::make_shared<Answer>(*own);
            answer->importedFrom = text(imported.source);
            answer->imported = std::make_shared<const ResultArray>(patternArray(imported, shown));
            answer->isWeighted = false; // imported unchanged
            answer->setPatterns(std::move(imported.patterns));
            return Found(std::move(answer));
        },
        [this, own = m_answer](const Result<Found>& result) {
            if (!result)
                return m_summary->setText(text(result.error()));
            if (own->tokens != (m_answer ? m_answer->tokens : std::vector<int>()))
                return; // the prompt has changed meanwhile
            ImportedAttention::of(workspace())->keep((*result)->imported);
            take(*result);
        });
}

QString PromptPage::measure() const
{
    return m_answer && m_answer->isWeighted ? tr("value-weighted attention") : tr("attention");
}

QString PromptPage::origin() const
{
    return m_answer && !m_answer->importedFrom.isEmpty()
        ? tr(", imported from %1").arg(m_answer->importedFrom)
        : QString();
}

void PromptPage::attribute()
{
    const Analysis* analysis = findAnalysis("logit_attribution");
    AnalysisOptions options;
    options.inputs.prompt = m_answer->tokens;
    options.inputs.tokenizer = workspace()->model()->tokenizer();
    options.unusedTokens = workspace()->filteredTokens()->unused();
    const std::string reason = whyLeftOut(*analysis, workspace()->model()->circuits()->config(), options);
    m_effects->setValues(nullptr);
    m_logit->setText(windowWords(text(reason)));
    if (!reason.empty())
        return m_attribution.cancel();
    m_logit->setText(tr("Direct effect of every head on the logit of %1 at the last position")
                         .arg(workspace()->model()->tokenText(m_answer->likeliestNext)));
    m_effects->view()->setPending(true);
    m_attribution.start(
        tr("Attributing the logit"),
        [circuits = workspace()->model()->circuits(), analysis, options](const Task& task) {
            return analysis->run({*circuits, nullptr, options}, task);
        },
        [this](const Result<ResultSet>& results) {
            m_effects->view()->setPending(false);
            const ResultArray* heads = results ? results->find("analyses/logit_attribution/head") : nullptr;
            if (!heads)
                return m_logit->setText(text(results.error()));
            m_zScores = metricGrid(*results->find("analyses/logit_attribution/head_z"));
            auto grid = std::make_shared<Eigen::MatrixXf>(metricGrid(*heads));
            ColorScale scale;
            scale.map = ColorMap::Signed;
            m_effects->view()->colors()->proposeScale(scale);
            m_effects->setValues(std::move(grid));
        });
}

Eigen::Index PromptPage::skipped() const
{
    return m_hidesFirst->isChecked() && m_answer && m_answer->smallWithoutFirst ? 1 : 0;
}

void PromptPage::fitColors()
{
    ColorScale scale = m_panel->view()->colorScale();
    scale.fit =
        m_hidesFirst->isChecked() || (m_answer && m_answer->isWeighted) ? ColorFit::Full : ColorFit::Fixed;
    scale.low = 0;
    scale.high = 1;
    m_panel->view()->colors()->setScale(scale);
}

void PromptPage::showPatterns()
{
    if (!m_answer)
        return;
    const auto& small = skipped() > 0 ? m_answer->smallWithoutFirst : m_answer->small;
    const bool isFitted = skipped() > 0 || m_answer->isWeighted;
    float highest = isFitted ? 0.0F : 1.0F;
    if (isFitted)
        for (const auto& layer : *small)
            for (const Eigen::MatrixXf& pattern : layer)
                highest = std::max(highest, pattern.maxCoeff());
    m_heads->setPatterns(small, m_answer->patterns);
    m_heads->setHighest(highest > 0 ? highest : 1);
    showPattern();
}

void PromptPage::showPattern()
{
    if (!m_answer)
        return;
    const HeadId head = workspace()->selection()->head();
    m_heads->setCurrent(head);
    HeatmapView* view = m_panel->view();
    QStringList labels;
    for (auto at = static_cast<std::size_t>(skipped()); at < m_answer->tokens.size(); ++at)
        labels << workspace()->model()->tokenText(m_answer->tokens[at]);
    view->setRowAxis(labelledAxis(tr("query"), labels));
    view->setColumnAxis(labelledAxis(tr("key"), labels));
    const Eigen::MatrixXf& pattern =
        (*m_answer->patterns)[static_cast<std::size_t>(head.layer)][static_cast<std::size_t>(head.head)];
    const Eigen::Index shown = pattern.rows() - skipped();
    const auto matrix = std::make_shared<const Eigen::MatrixXf>(pattern.bottomRightCorner(shown, shown));
    view->setMatrix(matrix);
    m_text->setPattern(labels, matrix);
    m_text->setScale(view->colorScale());
    m_summary->setText(tr("%1 %2%3 · %4 tokens · likeliest next token %5")
                           .arg(text(head), measure(), origin())
                           .arg(m_answer->tokens.size())
                           .arg(workspace()->model()->tokenText(m_answer->likeliestNext)));
}

QJsonObject PromptPage::viewState() const
{
    return {{QStringLiteral("prompt"), m_prompt->text()},
            {QStringLiteral("without_first"), m_hidesFirst->isChecked()},
            {QStringLiteral("by_values"), m_weighs->isChecked()},
            {QStringLiteral("heatmap"), m_panel->viewState()}};
}

void PromptPage::setViewState(const QJsonObject& state)
{
    m_prompt->setText(state[QStringLiteral("prompt")].toString());
    m_hidesFirst->setChecked(state[QStringLiteral("without_first")].toBool());
    const QSignalBlocker quiet(m_weighs);
    m_weighs->setChecked(state[QStringLiteral("by_values")].toBool());
    m_panel->setViewState(state[QStringLiteral("heatmap")].toObject());
    run();
}

QList<FigureSource*> PromptPage::figures()
{
    if (!m_panel->view()->matrix())
        return {};
    const QString of = text(workspace()->model()->card().name) + origin();
    const QString head = text(workspace()->selection()->head());
    describe(
        m_panel->view(),
        (skipped() > 0 ? tr("%1 %2 without the first token, %3") : tr("%1 %2, %3")).arg(head, measure(), of));
    describe(m_heads,
             (m_answer->isWeighted ? tr("Value-weighted attention of every head, %1")
                                   : tr("Attention of every head, %1"))
                 .arg(of));
    setSubject(m_heads, std::nullopt);
    describe(m_text, tr("%1 %2 of token %3, %4").arg(head, measure(), placeText(m_text->query()), of));
    QList<FigureSource*> figures{m_panel->view(), m_heads, m_text};
    if (!m_answer->importedFrom.isEmpty())
        for (FigureSource* figure : figures)
            figure->setProvenance(figure->provenance()
                                  + Provenance{{QStringLiteral("attention"),
                                                tr("imported from %1").arg(m_answer->importedFrom)}});
    if (m_effects->view()->matrix()) {
        describe(m_effects->view(),
                 tr("%1, %2").arg(m_logit->text(), text(workspace()->model()->card().name)));
        setSubject(m_effects->view(), std::nullopt);
        figures << m_effects->view();
    }
    return figures;
}

} // namespace headwise::ui
