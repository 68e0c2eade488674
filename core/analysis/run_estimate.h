#pragma once

#include "core/analysis/catalogue.h"

namespace headwise {

/// What a run of several analyses takes, before it starts.
struct RunEstimate {
    double flops = 0;                  ///< Of all.
    double bytes = 0;                  ///< Of the one that needs most: less than the run takes in all.
    const Analysis* longest = nullptr; ///< Null if nothing is left to run.
    const Analysis* largest = nullptr;
    double longestFlops = 0;
};

/// Of one analysis, with what its metric adds to it (residual_basis.h).
AnalysisCost runCost(const Analysis& analysis, const ModelConfig& config, const AnalysisOptions& options);

/// Whether `analysis` takes heads that are named, and all of this model are too many for it.
bool takesNamedHeadsAlone(const Analysis& analysis, const ModelConfig& config, AnalysisOptions options);

/// Whether what `analysis` finds is about the heads that are asked for: the others cost nothing.
bool takesNamedHeads(const Analysis& analysis, const ModelConfig& config, AnalysisOptions options);

/// Of those of `chosen` that apply to the model and have their inputs.
RunEstimate estimateRun(std::span<const Analysis* const> chosen, const ModelConfig& config,
                        const AnalysisOptions& options);

/// Processor seconds of one usual core; right within a factor of about three (tests/bench).
double estimatedSeconds(double flops);

/// Empty if `available` bytes are enough, else a sentence naming the analysis and what to ask for instead.
std::string whyTooLarge(const RunEstimate& estimate, double available);

/// One sentence with the time on `cores` and the longest analysis; empty below a minute.
std::string longRunNotice(const RunEstimate& estimate, int cores);

} // namespace headwise
