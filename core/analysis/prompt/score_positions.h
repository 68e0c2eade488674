#pragma once

#include "core/analysis/catalogue.h"

namespace headwise {

/// Returns the query whose score is split: the named one, by default the last of the prompt.
int scoreQuery(const AnalysisInputs& inputs);

/// Errors: InvalidArgument if the named query is not in the prompt, or cannot see the named key.
Result<Done> checkScorePositions(const AnalysisInputs& inputs);

} // namespace headwise
