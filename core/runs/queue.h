#pragma once

#include "core/runs/estimate.h"
#include "core/runs/plan.h"
#include "core/runs/resume.h"

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>

namespace headwise {

/// The analyses that wait, the one that runs, and the progress of all of them. One thread at a time.
///
/// A run begins when an analysis is added while nothing runs or waits.
class RunQueue {
public:
    using Time = RunMeter::Time;

    explicit RunQueue(int cores = 0); ///< 0: all of this machine.

    /// Adds an analysis at the end; one that waits already keeps its place.
    void append(const Analysis& analysis, double flops);
    /// Adds an analysis that was asked for: behind those asked for earlier, before all that are among `defaults`.
    void request(const Analysis& analysis, double flops, std::span<const Analysis* const> defaults);
    /// Adds an analysis at the front, to begin again.
    void putBack(const Analysis& analysis, double flops);
    void remove(const Analysis& analysis); ///< One that waits.
    void clear();                          ///< Removes all that wait.

    const std::deque<const Analysis*>& waiting() const { return m_waiting; } ///< The next first.
    bool isWaiting(const Analysis& analysis) const;
    const Analysis* running() const { return m_running; } ///< Null while none runs.

    const Analysis* begin(Time now); ///< Takes the first; null if none waits.
    void advance(double fraction, Time now);
    void complete(Time now);
    void fail();      ///< The one that runs ended without results.
    void interrupt(); ///< The one that runs was cancelled.

    RunStatus status() const;

private:
    void add(const Analysis& analysis, double flops);

    std::deque<const Analysis*> m_waiting;
    std::map<const Analysis*, double> m_flops; // of those that wait
    const Analysis* m_running = nullptr;
    RunMeter m_meter;
};

/// Computes the token side that some of `analyses` need, which all can run; null if none needs it. The task's peers share the work.
/// Errors: those of tokenSide.
Result<std::shared_ptr<const TokenSide>> tokensFor(std::span<const Analysis* const> analyses,
                                                   const Circuits& circuits, const AnalysisOptions& options,
                                                   const Task& task);

/// The circuits and the token side that the analyses of one run share, for each as it measures lengths.
class RunContext {
public:
    /// \param context  without tokens if they are not there yet
    explicit RunContext(AnalysisContext context);

    /// Computes the token side and the embedding's basis once, if any of `analyses` needs them.
    /// Errors: those of tokensFor and inEmbeddingBasis.
    Result<Done> prepare(std::span<const Analysis* const> analyses, const Task& task);

    /// Runs one of the prepared analyses and marks its arrays with their provenance and metric.
    /// Errors: those of the analysis; Io if a file of the weights changed meanwhile.
    Result<ResultSet> run(const Analysis& analysis, const Task& task) const;

private:
    AnalysisContext m_own;
    std::optional<AnalysisContext> m_inEmbeddingBasis; // empty where no analysis follows the metric
};

/// Runs one analysis that is known to fit.
/// \param context  with the token side where needsTokenSide says so
/// Errors: those of RunContext; OutOfMemory, before it starts.
Result<ResultSet> runAnalysis(const Analysis& analysis, const AnalysisContext& context, const Task& task);

/// Takes part in a run: brings what is there already, keeps its results for a later one, and learns how far it is.
struct RunListener {
    Resume* resume = nullptr; ///< Its results are not computed again, and new ones are kept in it.
    std::shared_ptr<const TokenSide> tokens = nullptr; ///< As tokensFor returns them; null: not yet there.
    /// Takes the place of the task's progress while an analysis runs. Called from any thread, by one at a time.
    std::function<void(const Analysis& analysis, const RunStatus& status)> onStatus = {};
    /// Called when an analysis has ended with results. \param seconds  it took; 0 if they are an earlier run's
    std::function<void(const Analysis& analysis, const ResultSet& found, double seconds)> onFound = {};
};

/// Runs `chosen`, in order, and merges their results; the token side is computed once if any needs it. Those that do not apply
/// are left out with a warning. With a share (shard.h), split analyses compute its heads alone. Progress names the analysis and ends in the words of runStatusText.
/// Errors: InvalidArgument (a head outside the model, k < 1), Cancelled, OutOfMemory.
Result<ResultSet> runAnalyses(const Circuits& circuits, std::span<const Analysis* const> chosen,
                              const AnalysisOptions& options, const Task& task,
                              const RunListener& listener = {});

} // namespace headwise
