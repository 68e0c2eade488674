#pragma once

#include "core/analysis/catalogue.h"

namespace headwise {

/// Says in the attributes of every array what it came from beside the weights (CONTRACTS.md §8): `embedding`, which E stood
/// on the token sides, of arrays about full circuits (CONTRACTS.md §4); `seed`, of the random baselines and samples of the run;
/// `token`, the id, of analyses that need one.
void markProvenance(ResultSet& results, const Analysis& analysis, const AnalysisOptions& options);

} // namespace headwise
