#pragma once

#include "core/analysis/catalogue.h"
#include "core/results/results.h"

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headwise {

// Shared code of the analyses that compute a number, or a list of numbers, per head.

/// Returns the selected heads in order, by default all heads of the model.
std::vector<HeadId> selectedHeads(const ModelConfig& config, const AnalysisOptions& options);

/// Returns the selected heads that this process computes: those of its shard, by default all selected ones.
std::vector<HeadId> ownHeads(const ModelConfig& config, const AnalysisOptions& options);

/// Returns the spectra that the analyses of a run share, or new ones where the context has none.
std::shared_ptr<SharedSpectra> spectraOf(const AnalysisContext& context);

/// Collects the arrays of an analysis in the run's precision.
Results resultsOf(const AnalysisContext& context, std::vector<ArraySpec> specs);

/// Runs `body` for every selected head of this shard, in parallel. Skips a head for which it returns Corrupt; its numbers stay NaN.
/// \returns a warning that names the skipped heads, or none
/// Errors: those of `body` except Corrupt; Cancelled.
Result<std::vector<std::string>> forEachHead(const AnalysisContext& context, const Task& task,
                                             std::string_view step,
                                             const std::function<Result<Done>(HeadId)>& body);

/// Runs `body` for the selected heads, `size` at a time, so that one product can serve several heads.
/// \param body returns those of its heads whose weights are not finite
Result<std::vector<std::string>>
forEachGroup(const AnalysisContext& context, const Task& task, std::string_view step, int size,
             const std::function<Result<std::vector<HeadId>>(std::span<const HeadId>)>& body);

/// Returns warnings that name the heads left out of a step and say why: a weight is not finite, or all are and a product of them
/// overflowed. None for none.
/// \param left in order
std::vector<std::string> leftOutWarnings(const AnalysisContext& context, std::string_view step,
                                         const std::vector<HeadId>& left);

/// Returns `task` without progress reports, for the inner loops of an operation that reports its own steps.
Task withoutProgress(const Task& task);

/// Accepts every model: for catalogue rows that apply to all of them.
std::string appliesAlways(const ModelConfig& config, const AnalysisOptions& options);
/// Refuses bidirectional models: for what is defined over the keys j ≤ i alone.
std::string whyNoCausalMask(const ModelConfig& config);

} // namespace headwise
