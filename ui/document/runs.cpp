#include "ui/document/runs.h"

#include "core/analysis/residual_basis.h"
#include "ui/base/text.h"
#include "ui/document/array_part.h"
#include "ui/document/estimate.h"
#include "ui/document/workspace.h"

#include <algorithm>
#include <utility>

namespace headwise::ui {

namespace {

using Clock = std::chrono::steady_clock;

} // namespace

Runs::Runs(Workspace* workspace)
    : m_workspace(workspace)
{
    connect(&m_job, &Job::progressed, this, [this](int permille) {
        m_queue.advance(permille / 1000.0, Clock::now());
        emit progressed();
    });
    connect(&JobBoard::instance(), &JobBoard::ended, this, [this](Job* job, qint64, bool cancelled) {
        if (job != &m_job || !cancelled)
            return;
        m_queue.interrupt();
        emit progressed();
    });
}

void Runs::runAnalysis(std::string_view id, Asker asker)
{
    const Analysis* analysis = findAnalysis(id);
    const auto circuits = m_workspace->model()->circuits();
    if (!analysis || !circuits)
        return;
    if (asker == Asker::User && !analysis->isDefault)
        m_asked.insert(analysis);
    const AnalysisOptions options = analysisOptions(*analysis);
    if (isRunning(*analysis)) {
        if (m_runningWith == options)
            return;
        m_job.cancel(); // a newer question
    }
    // Requested analyses go before the default ones. A default analysis under way begins again afterwards.
    const std::vector<const Analysis*> defaults = defaultAnalyses(circuits->config(), analysisOptions());
    const bool canBegin =
        !needsTokenSide(*analysis, options) || m_workspace->model()->tokenReader()->hasProducts();
    if (const Analysis* running = m_queue.running(); running && canBegin && isRunning(*running)
        && std::find(defaults.begin(), defaults.end(), running) != defaults.end()) {
        m_job.cancel();
        m_queue.putBack(*running, flopsOf(*running));
    }
    m_queue.request(*analysis, flopsOf(*analysis), defaults);
    emit waitingChanged();
    if (!canBegin && !m_workspace->model()->tokenReader()->job()->isRunning())
        m_workspace->model()->tokenReader()->startAgain(); // It had been cancelled.
    runNext();
}

bool Runs::isUnderWay(std::string_view id) const
{
    // After the running one was cancelled nothing goes on before something is asked for.
    if (!m_job.isRunning() && !m_workspace->model()->tokenReader()->job()->isRunning()
        && !m_workspace->filteredTokens()->job()->isRunning())
        return false;
    const Analysis* analysis = findAnalysis(id);
    return analysis && (m_queue.isWaiting(*analysis) || isRunning(*analysis));
}

void Runs::removeWaiting(const Analysis& analysis)
{
    m_queue.remove(analysis);
    m_asked.erase(&analysis);
    emit waitingChanged();
}

void Runs::queueDefaults()
{
    const ModelConfig& config = m_workspace->model()->circuits()->config();
    for (const Analysis* analysis : defaultAnalyses(config, analysisOptions()))
        if (analysis->defaultBudget == 0 && !isComputed(*analysis, *m_workspace->model()->results())
            && whyLeftOut(*analysis, config, analysisOptions(*analysis)).empty())
            m_queue.append(*analysis, flopsOf(*analysis));
    runNext();
}

void Runs::queueOtherwiseFiltered()
{
    const auto circuits = m_workspace->model()->circuits();
    if (!circuits)
        return;
    // They are there without being asked for, so they are computed again without being asked for.
    for (const Analysis* analysis : defaultAnalyses(circuits->config(), analysisOptions())) {
        const auto with = askedWith(analysis->id);
        if (with && isInEmbeddingBasis(*analysis, *with))
            m_queue.append(*analysis, flopsOf(*analysis));
    }
    emit waitingChanged();
}

void Runs::runNext()
{
    const auto circuits = m_workspace->model()->circuits();
    if (m_job.isRunning() || m_workspace->filteredTokens()->job()->isRunning() || waiting().empty()
        || !circuits)
        return;
    const Analysis& analysis = *waiting().front();
    const AnalysisOptions options = analysisOptions(analysis);
    if (needsTokenSide(analysis, options) && !m_workspace->model()->tokenReader()->hasProducts())
        return; // The model comes back here once they are there.
    if (!whyLeftOut(analysis, circuits->config(), options).empty()) {
        m_queue.remove(analysis);
        emit waitingChanged();
        return runNext();
    }
    m_queue.begin(Clock::now());
    m_runningWith = options;
    start(analysis, options);
    emit waitingChanged();
}

void Runs::start(const Analysis& analysis, const AnalysisOptions& options)
{
    const auto circuits = m_workspace->model()->circuits();
    m_job.start(
        withEstimate(text(analysis.title), runCost(analysis, circuits->config(), options)),
        [&analysis, context = AnalysisContext{*circuits, m_workspace->model()->tokens(), options}](
            const Task& task) { return headwise::runAnalysis(analysis, context, task); },
        [this, &analysis, filter = m_workspace->filteredTokens()->filter()](Result<ResultSet> result) {
            if (result) {
                m_queue.complete(Clock::now());
                ResultSet found = std::move(result).value();
                markFilter(found, filter);
                keep(analysis, std::move(found));
            } else {
                m_queue.fail();
                emit failed(text(result.error()));
            }
            emit progressed();
            runNext();
        });
}

void Runs::keep(const Analysis& analysis, ResultSet found)
{
    const std::string folder = "analyses/" + std::string(analysis.id) + "/";
    ResultSet all = *m_workspace->model()->results();
    std::erase_if(all.arrays, [&](const ResultArray& array) { return array.path.starts_with(folder); });
    all.merge(std::move(found));
    m_askedWith[std::string(analysis.id)] = m_runningWith;
    if (m_asked.erase(&analysis) > 0)
        m_workspace->model()->revision().change();
    m_workspace->model()->setResults(std::move(all));
}

bool Runs::isRunning(const Analysis& analysis) const
{
    return m_queue.running() == &analysis && m_job.isRunning();
}

double Runs::flopsOf(const Analysis& analysis) const
{
    return runCost(analysis, m_workspace->model()->circuits()->config(), analysisOptions(analysis)).work();
}

void Runs::stop()
{
    m_queue.clear();
    m_asked.clear();
    emit waitingChanged();
    m_job.cancel();
}

AnalysisInputs Runs::inputs() const
{
    AnalysisInputs inputs = m_inputs;
    inputs.tokenizer = m_workspace->model()->tokenizer();
    if (m_workspace->model()->isOpen()
        && m_workspace->selection()->token() < m_workspace->model()->card().dVocab)
        inputs.token = m_workspace->selection()->token();
    const auto reference = m_workspace->selection()->reference();
    const HeadId head = m_workspace->selection()->head();
    if (reference && reference->layer != head.layer)
        inputs.pair = {std::min(*reference, head), std::max(*reference, head)};
    return inputs;
}

void Runs::setInputs(const AnalysisInputs& inputs)
{
    if (inputs == m_inputs)
        return;
    const bool areOtherCounts = inputs.tokenCounts != m_inputs.tokenCounts;
    m_inputs = inputs;
    emit inputsChanged();
    if (areOtherCounts)
        emit countsChanged();
}

AnalysisOptions Runs::analysisOptions() const
{
    AnalysisOptions options;
    options.embedding = m_workspace->model()->embedding();
    options.unusedTokens = m_workspace->filteredTokens()->unused();
    options.inputs = inputs();
    return options;
}

AnalysisOptions Runs::analysisOptions(const Analysis& analysis) const
{
    AnalysisOptions options = analysisOptions();
    const HeadChoice choice = headChoice(analysis);
    if (choice.which == HeadChoice::Which::Listed)
        options.heads = choice.listed;
    if (choice.which == HeadChoice::Which::Selected) {
        options.heads = {m_workspace->selection()->head()};
        options.oneEndIsEnough = true; // with itself alone it makes no pair
    }
    return options;
}

HeadChoice Runs::headChoice(const Analysis& analysis) const
{
    if (const auto found = m_headChoices.find(analysis.id); found != m_headChoices.end())
        return found->second;
    const auto circuits = m_workspace->model()->circuits();
    const bool areTooMany = circuits && takesNamedHeadsAlone(analysis, circuits->config(), analysisOptions());
    return {.which = areTooMany ? HeadChoice::Which::Selected : HeadChoice::Which::All};
}

void Runs::setHeadChoice(const Analysis& analysis, const HeadChoice& choice)
{
    if (choice == headChoice(analysis))
        return;
    m_headChoices[std::string(analysis.id)] = choice;
    emit inputsChanged();
}

std::optional<AnalysisOptions> Runs::askedWith(std::string_view id) const
{
    const auto found = m_askedWith.find(id);
    return found == m_askedWith.end() ? std::nullopt : std::optional(found->second);
}

std::optional<AnalysisInputs> Runs::inputsOf(std::string_view id) const
{
    const auto options = askedWith(id);
    return options ? std::optional(options->inputs) : std::nullopt;
}

void Runs::forgetAnswers()
{
    m_askedWith.clear();
}

void Runs::forget()
{
    m_inputs = {};
    m_headChoices.clear();
    forgetAnswers();
}

void Runs::copyFrom(const Runs& other)
{
    m_inputs = other.m_inputs;
    m_headChoices = other.m_headChoices;
    m_askedWith = other.m_askedWith;
}

} // namespace headwise::ui
