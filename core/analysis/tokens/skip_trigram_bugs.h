#pragma once

#include "core/circuits/circuits.h"
#include "core/results/result_set.h"

namespace headwise {

class BigramCounts;

/// Adds to the results of skip-trigrams which of them no text has: destinations and outs of one source are two lists, and a head
/// that raises (s … d → o) and (s … d′ → o′) must raise (s … d → o′) too, whether or not o′ ever follows d.
/// \param listed how many of the absent pairs of each head
/// Source: Elhage et al. 2021, "Interpretation as Skip-Trigrams" (skip-trigram "bugs").
void addSkipTrigramBugs(ResultSet& results, const BigramCounts& bigrams, Precision precision, int listed);

} // namespace headwise
