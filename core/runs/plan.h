#pragma once

#include "core/analysis/catalogue.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headwise {

/// Why `analysis` is skipped: it does not apply to the model, or one of its inputs is missing. Empty if it can run.
std::string whyLeftOut(const Analysis& analysis, const ModelConfig& config, const AnalysisOptions& options);

/// The analyses of `analyze` without --analyses, which the window runs unasked: the same on every machine (CONTRACTS.md §13).
std::vector<const Analysis*> defaultAnalyses(const ModelConfig& config, const AnalysisOptions& options);

/// Reads "spectra,copying" or "all": each analysis once, in the order of the catalogue.
/// Errors: InvalidArgument (an unknown name, an empty list).
Result<std::vector<const Analysis*>> parseAnalyses(const std::string& names);

/// Whether `analysis` runs for a few named heads, but not for all heads of this model.
bool takesNamedHeadsAlone(const Analysis& analysis, const ModelConfig& config, AnalysisOptions options);

/// Whether naming heads changes the cost of `analysis`, so that the other heads are not computed.
bool takesNamedHeads(const Analysis& analysis, const ModelConfig& config, AnalysisOptions options);

/// The analyses of one run.
struct RunPlan {
    std::vector<const Analysis*> analyses; ///< In the order in which they run.
    std::vector<std::string> warnings;     ///< One sentence about each analysis that is skipped.
};

/// Sorts out the analyses that cannot run on this model with these options.
/// Errors: InvalidArgument (a head outside the model, k < 1).
Result<RunPlan> planRun(std::span<const Analysis* const> chosen, const ModelConfig& config,
                        const AnalysisOptions& options);

/// The sentence of a warning: `analysis` was left out, and why.
std::string leftOutWarning(const Analysis& analysis, std::string_view reason);

} // namespace headwise
