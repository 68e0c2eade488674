#pragma once

#include "core/analysis/comparison/model_comparison.h"
#include "core/results/results.h"

namespace headwise {

/// Number of sampled rows per head.
int sampledTokenCount(const ModelConfig& config);

/// Specs of the arrays of `putTableChanges`.
std::vector<ArraySpec> tableChangeArrays();

/// Puts the tables of `compareModels`: how many tokens left the top of full OV's rows.
/// Errors: Cancelled.
Result<Done> putTableChanges(const Circuits& older, const Circuits& newer, const ComparisonOptions& options,
                             const Task& task, Results& results);

} // namespace headwise
