#include "core/runs/queue.h"

#include "core/analysis/provenance.h"
#include "core/analysis/residual_basis.h"
#include "core/base/memory.h"
#include "core/checkpoint/file_change.h"
#include "core/circuits/shared_spectra.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <mutex>
#include <new>
#include <utility>

namespace headwise {

namespace {

using Clock = std::chrono::steady_clock;

/// The sentence of a refusal; empty where memory is enough or unknown.
std::string whyTooLargeNow(std::span<const Analysis* const> analyses, const ModelConfig& config,
                           const AnalysisOptions& options, std::string_view advice)
{
    const auto free = availableMemory();
    return free ? whyTooLarge(estimateRun(analyses, config, options), *free, advice) : std::string();
}

/// Returns the context as one analysis reads it. One that cannot be split runs for all selected heads.
AnalysisContext contextFor(const Analysis& analysis, AnalysisContext context)
{
    if (!analysis.isSplit)
        context.options.share.reset();
    return context;
}

/// Returns the spectra for a run, which keeps what one of its analyses takes over from another.
std::shared_ptr<SharedSpectra> sharedSpectra(const AnalysisContext& context,
                                             std::span<const Analysis* const> analyses)
{
    const bool areShared = std::ranges::any_of(analyses, [&](const Analysis* later) {
        return std::ranges::any_of(analyses, [&](const Analysis* one) { return one->id == later->after; });
    });
    return std::make_shared<SharedSpectra>(
        context.circuits, context.tokens, areShared ? SharedSpectra::Keep::All : SharedSpectra::Keep::Groups);
}

/// Runs the analyses of a plan one after another.
class PlannedRun {
public:
    PlannedRun(const Circuits& circuits, RunPlan plan, const AnalysisOptions& options, const Task& task,
               const RunListener& listener)
        : m_circuits(circuits)
        , m_plan(std::move(plan))
        , m_options(options)
        , m_task(task)
        , m_listener(listener)
        , m_queue(task.threads)
    {
    }

    Result<ResultSet> run(bool isOneOfSeveral);

private:
    std::vector<const Analysis*> takeKnown(); // returns those that are left
    Task watched(const Analysis& analysis);   // the task of one analysis
    std::string progressText(std::string_view step, const Analysis& analysis) const;
    void add(const Analysis& analysis, ResultSet found, double seconds);

    const Circuits& m_circuits;
    RunPlan m_plan;
    const AnalysisOptions& m_options;
    const Task& m_task;
    const RunListener& m_listener;
    std::map<const Analysis*, ResultSet> m_known; // from an earlier run
    RunQueue m_queue;
    std::mutex m_mutex; // of m_queue while an analysis runs
    ResultSet m_results;
};

std::vector<const Analysis*> PlannedRun::takeKnown()
{
    std::vector<const Analysis*> left;
    for (const Analysis* analysis : m_plan.analyses) {
        auto known = m_listener.resume ? m_listener.resume->take(*analysis) : std::nullopt;
        if (known)
            m_known[analysis] = std::move(*known);
        else
            left.push_back(analysis);
    }
    return left;
}

std::string PlannedRun::progressText(std::string_view step, const Analysis& analysis) const
{
    const RunStatus status = m_queue.status();
    const std::string name = status.count > 1
        ? fmt::format(" ({}, {} of {})", analysis.id, status.index, status.count)
        : std::string();
    return fmt::format("{}{} · {}", step, name, runStatusText(status));
}

Task PlannedRun::watched(const Analysis& analysis)
{
    Task one = m_task;
    if (!m_task.onProgress && !m_listener.onStatus)
        return one;
    one.onProgress = [this, &analysis](int done, int total, std::string_view step) {
        std::string text;
        {
            const std::lock_guard lock(m_mutex);
            m_queue.advance(total > 0 ? static_cast<double>(done) / total : 0, Clock::now());
            if (m_listener.onStatus)
                return m_listener.onStatus(analysis, m_queue.status());
            text = progressText(step, analysis);
        }
        m_task.onProgress(done, total, text);
    };
    if (m_listener.onStatus)
        m_listener.onStatus(analysis, m_queue.status());
    return one;
}

void PlannedRun::add(const Analysis& analysis, ResultSet found, double seconds)
{
    if (m_listener.onFound)
        m_listener.onFound(analysis, found, seconds);
    Resume* const resume = m_listener.resume;
    const bool isNew = !m_known.contains(&analysis);
    if (resume && isNew)
        resume->add(analysis, found);
    m_results.merge(std::move(found));
    if (resume && isNew)
        resume->save(m_results, m_task);
}

Result<ResultSet> PlannedRun::run(bool isOneOfSeveral)
{
    m_results.warnings = std::move(m_plan.warnings);
    const std::vector<const Analysis*> left = takeKnown();
    if (std::string why = whyTooLargeNow(left, m_circuits.config(), m_options, commandAdvice); !why.empty())
        return Error{ErrorCode::OutOfMemory, std::move(why)};
    RunContext context({m_circuits, m_listener.tokens, m_options});
    if (const auto prepared = context.prepare(left, m_task); !prepared)
        return prepared.error();
    for (const Analysis* analysis : m_plan.analyses)
        m_queue.append(
            *analysis,
            m_known.contains(analysis) ? 0 : runCost(*analysis, m_circuits.config(), m_options).work());
    while (const Analysis* analysis = m_queue.begin(Clock::now())) {
        if (const auto known = m_known.find(analysis); known != m_known.end()) {
            add(*analysis, std::move(known->second), 0);
            m_queue.complete(Clock::now());
            continue;
        }
        const auto begin = Clock::now();
        Result<ResultSet> found = context.run(*analysis, watched(*analysis));
        if (!found && found.error().code == ErrorCode::Corrupt && isOneOfSeveral) {
            m_results.warnings.push_back(leftOutWarning(*analysis, found.error().message));
            m_queue.fail();
            continue;
        }
        if (!found)
            return found;
        m_queue.complete(Clock::now());
        add(*analysis, std::move(found).value(), std::chrono::duration<double>(Clock::now() - begin).count());
    }
    return std::move(m_results);
}

} // namespace

RunQueue::RunQueue(int cores)
    : m_meter(cores)
{
}

void RunQueue::add(const Analysis& analysis, double flops)
{
    if (m_waiting.empty() && !m_running)
        m_meter.reset();
    m_flops[&analysis] = flops;
}

void RunQueue::append(const Analysis& analysis, double flops)
{
    if (isWaiting(analysis))
        return;
    add(analysis, flops);
    m_waiting.push_back(&analysis);
}

void RunQueue::request(const Analysis& analysis, double flops, std::span<const Analysis* const> defaults)
{
    add(analysis, flops);
    std::erase(m_waiting, &analysis);
    m_waiting.insert(std::find_first_of(m_waiting.begin(), m_waiting.end(), defaults.begin(), defaults.end()),
                     &analysis);
}

void RunQueue::putBack(const Analysis& analysis, double flops)
{
    add(analysis, flops);
    std::erase(m_waiting, &analysis);
    m_waiting.push_front(&analysis);
}

void RunQueue::remove(const Analysis& analysis)
{
    std::erase(m_waiting, &analysis);
    m_flops.erase(&analysis);
}

void RunQueue::clear()
{
    m_waiting.clear();
    m_flops.clear();
}

bool RunQueue::isWaiting(const Analysis& analysis) const
{
    return std::find(m_waiting.begin(), m_waiting.end(), &analysis) != m_waiting.end();
}

const Analysis* RunQueue::begin(Time now)
{
    if (m_waiting.empty())
        return nullptr;
    m_running = m_waiting.front();
    m_waiting.pop_front();
    m_meter.begin(m_flops.extract(m_running).mapped(), now);
    return m_running;
}

void RunQueue::advance(double fraction, Time now)
{
    m_meter.advance(fraction, now);
}

void RunQueue::complete(Time now)
{
    m_running = nullptr;
    m_meter.complete(now);
}

void RunQueue::fail()
{
    m_running = nullptr;
    m_meter.fail();
}

void RunQueue::interrupt()
{
    m_running = nullptr;
    m_meter.interrupt();
}

RunStatus RunQueue::status() const
{
    double flops = 0;
    for (const auto& [analysis, one] : m_flops)
        flops += one;
    return m_meter.status(flops, static_cast<int>(m_waiting.size()));
}

Result<std::shared_ptr<const TokenSide>> tokensFor(std::span<const Analysis* const> analyses,
                                                   const Circuits& circuits, const AnalysisOptions& options,
                                                   const Task& task)
{
    const auto any = [&](auto&& is) { return std::any_of(analyses.begin(), analyses.end(), is); };
    if (!any([&](const Analysis* row) { return needsTokenSide(*row, options); }))
        return std::shared_ptr<const TokenSide>();
    const auto readsMatrices = [&](const Analysis* row) {
        return isInEmbeddingBasis(*row, options) || (row->needsTokens && !row->needsGramsAlone);
    };
    return tokenSide(circuits, options.embedding, task, options.precision,
                     any(readsMatrices) ? TokenParts::WithGrams : TokenParts::GramsAlone);
}

RunContext::RunContext(AnalysisContext context)
    : m_own(std::move(context))
{
}

Result<Done> RunContext::prepare(std::span<const Analysis* const> analyses, const Task& task)
{
    const AnalysisOptions& options = m_own.options;
    const auto any = [&](auto&& is) { return std::any_of(analyses.begin(), analyses.end(), is); };
    if (!m_own.tokens) {
        const auto tokens = tokensFor(analyses, m_own.circuits, options, task);
        if (!tokens)
            return tokens.error();
        m_own.tokens = *tokens;
    }
    m_own.spectra = sharedSpectra(m_own, analyses);
    if (!any([&](const Analysis* row) { return isInEmbeddingBasis(*row, options); }))
        return Done{};
    const bool keepsTokens =
        any([&](const Analysis* row) { return row->needsTokens && isInEmbeddingBasis(*row, options); });
    auto other = inEmbeddingBasis(m_own, keepsTokens ? TokensInBasis::Kept : TokensInBasis::LeftOut, task);
    if (!other)
        return other.error();
    m_inEmbeddingBasis = std::move(other).value();
    m_inEmbeddingBasis->spectra = sharedSpectra(*m_inEmbeddingBasis, analyses);
    return Done{};
}

Result<ResultSet> RunContext::run(const Analysis& analysis, const Task& task) const
{
    const bool isInOther = isInEmbeddingBasis(analysis, m_own.options);
    const AnalysisContext& context = isInOther ? *m_inEmbeddingBasis : m_own;
    Result<ResultSet> results = analysis.run(contextFor(analysis, context), task);
    // Whatever the analysis made of weights that changed meanwhile.
    if (const auto unchanged = checkUnchanged(m_own.circuits.weights().original().file()); !unchanged)
        return unchanged.error();
    if (!results)
        return results;
    ResultSet found = std::move(results).value();
    markProvenance(found, analysis, m_own.options);
    if (isInOther)
        markMetric(found, m_own.options.embedding);
    return found;
}

Result<ResultSet> runAnalysis(const Analysis& analysis, const AnalysisContext& context, const Task& task)
{
    const Analysis* const row = &analysis;
    if (std::string why = whyTooLargeNow({&row, 1}, context.circuits.config(), context.options, windowAdvice);
        !why.empty())
        return Error{ErrorCode::OutOfMemory, std::move(why)};
    RunContext run(context);
    if (const auto prepared = run.prepare({&row, 1}, task); !prepared)
        return prepared.error();
    return run.run(analysis, task);
}

Result<ResultSet> runAnalyses(const Circuits& circuits, std::span<const Analysis* const> chosen,
                              const AnalysisOptions& options, const Task& task, const RunListener& listener)
{
    auto plan = planRun(chosen, circuits.config(), options);
    if (!plan)
        return plan.error();
    try {
        PlannedRun run(circuits, std::move(plan).value(), options, task, listener);
        return run.run(chosen.size() > 1 || options.share); // a shard is part of a run of several
    } catch (const std::bad_alloc&) {
        return Error{
            ErrorCode::OutOfMemory,
            "There is not enough memory for these analyses; run fewer at once, fewer heads, or shorter tables."};
    }
}

} // namespace headwise
