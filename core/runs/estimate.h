#pragma once

#include "core/analysis/catalogue.h"

#include <chrono>
#include <span>
#include <string>
#include <string_view>

namespace headwise {

/// Cost of a run of several analyses, before it starts.
struct RunEstimate {
    double flops = 0;                  ///< Sum over the analyses.
    double work = 0;                   ///< Sum of their flops at the usual speed.
    double bytes = 0;                  ///< The most that one analysis needs: less than the run takes in all.
    const Analysis* longest = nullptr; ///< Null if nothing is left to run.
    const Analysis* largest = nullptr;
    double longestWork = 0;
};

/// Cost of one analysis, with what its metric adds to it (residual_basis.h); of a split one in a shard, the shard's part.
/// \param inRun all analyses of the run, from which this one may take over work; empty: it runs by itself
AnalysisCost runCost(const Analysis& analysis, const ModelConfig& config, const AnalysisOptions& options,
                     std::span<const Analysis* const> inRun = {});

/// Sums up those of `chosen` that apply to the model and have their inputs.
RunEstimate estimateRun(std::span<const Analysis* const> chosen, const ModelConfig& config,
                        const AnalysisOptions& options);

/// Cores that a task with this limit on its threads uses. \param threads 0: all of this machine
int coresOf(int threads);

/// Speed of analyses on this machine, in flop/s: a part of what coreSgemmRate() measures. Every estimate follows it.
double analysisRate(int cores = 1);

/// Seconds that flops at the usual speed take on cores of this machine (AnalysisCost::work).
double estimatedSeconds(double work, int cores = 1);

/// Advice to a user whose run needs too much memory.
inline constexpr std::string_view commandAdvice =
    "ask for fewer heads (--heads), for a smaller -k, or for other analyses";
inline constexpr std::string_view windowAdvice = "choose fewer heads or another analysis";

/// Empty if `available` bytes are enough, else a sentence naming the analysis, with the advice.
std::string whyTooLarge(const RunEstimate& estimate, double available,
                        std::string_view advice = commandAdvice);

/// One sentence with the time on `cores` and the longest analysis; empty below a minute.
std::string longRunNotice(const RunEstimate& estimate, int cores);

/// "3 s", "2 min", "1 h 5 min"
std::string durationText(double seconds);

/// Progress of a run of several analyses.
struct RunStatus {
    int index = 0;       ///< The analysis that runs, from 1; 0 while none does.
    int count = 0;       ///< Analyses of the run: finished, running and waiting.
    double fraction = 0; ///< Share of the flops that is done, 0 to 1.
    double secondsLeft = 0;
};

/// "42 % · 2 min left". The window and the command line show these words.
std::string runStatusText(const RunStatus& status);

/// Measures a run: the flops done, and the speed, which begins as the one that estimatedSeconds() assumes and becomes the measured one.
class RunMeter {
public:
    using Time = std::chrono::steady_clock::time_point;

    explicit RunMeter(int cores = 0); ///< 0: all of this machine.

    void reset(); ///< Begins another run.
    void begin(double flops, Time now);
    void advance(double fraction, Time now); ///< Never backwards within an analysis.
    void complete(Time now);
    void fail();      ///< The analysis counts as finished, its time and flops do not count.
    void interrupt(); ///< As if it had not begun.

    /// \param flops \param count  of the analyses that wait
    RunStatus status(double flops, int count) const;

private:
    struct Work {
        double flops = 0, seconds = 0;
    };
    int m_cores;
    Work m_done, m_running;
    double m_fraction = 0; // of m_running
    int m_finished = 0;
    bool m_isRunning = false;
    Time m_begin;
};

} // namespace headwise
