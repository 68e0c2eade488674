#pragma once

#include "core/analysis/catalogue.h"

namespace headwise {

/// Writes the inputs besides the weights into the attributes of every array (CONTRACTS.md §8).
/// `embedding` names the E on the token sides, for arrays of full circuits (CONTRACTS.md §4).
/// `seed` is the seed of the run's random baselines and samples. `token` is the id, for analyses that need a token.
void markProvenance(ResultSet& results, const Analysis& analysis, const AnalysisOptions& options);

} // namespace headwise
