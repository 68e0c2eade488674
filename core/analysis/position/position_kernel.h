#pragma once

// Private to core/analysis/position: what the position kernel and the previous-token score share.

#include "core/analysis/catalogue.h"

namespace headwise {

/// Returns how many positions are scored against each other: those of the context, at most 1024.
Eigen::Index scoredPositions(const ModelConfig& config);

/// Returns the cost of all scores between these positions, for every selected head.
AnalysisCost positionScoresCost(const ModelConfig& config, const AnalysisOptions& options);

} // namespace headwise
