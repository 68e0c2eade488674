#pragma once

#include "core/analysis/catalogue.h"

#include <string>
#include <vector>

namespace headwise {

// Shared code of the analyses of a prompt.

/// Returns the number of prompt tokens. Without a prompt, returns the length that cost estimates assume: min(64, n_ctx).
int promptLength(const ModelConfig& config, const AnalysisOptions& options);

/// Returns the labels of the prompt tokens, for the axes.
std::vector<std::string> promptLabels(const AnalysisInputs& inputs);

} // namespace headwise
