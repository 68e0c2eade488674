#pragma once

#include "core/analysis/comparison/model_comparison.h"

namespace headwise {

/// How many rows of every head are looked at.
int sampledTokenCount(const ModelConfig& config);

/// How much of the top of full OV's rows left between two models: the tables of `compareModels`.
/// Errors: Cancelled.
Result<ResultSet> tableChanges(const Circuits& older, const Circuits& newer, const ComparisonOptions& options,
                               const Task& task);

} // namespace headwise
