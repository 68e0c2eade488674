#pragma once

#include "core/analysis/comparison/model_comparison.h"

namespace headwise {

/// Number of sampled rows per head.
int sampledTokenCount(const ModelConfig& config);

/// Computes the tables of `compareModels`: how many tokens left the top of full OV's rows.
/// Errors: Cancelled.
Result<ResultSet> tableChanges(const Circuits& older, const Circuits& newer, const ComparisonOptions& options,
                               const Task& task);

} // namespace headwise
