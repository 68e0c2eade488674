#pragma once

#include "core/analysis/catalogue.h"

namespace headwise {

/// The query whose score is taken apart: the one that is named, or the prompt's last.
int scoreQuery(const AnalysisInputs& inputs);

/// Errors: InvalidArgument if the query that is named is not in the prompt, or sees no key at the position that is named.
Result<Done> checkScorePositions(const AnalysisInputs& inputs);

} // namespace headwise
