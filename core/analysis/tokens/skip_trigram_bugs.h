#pragma once

#include "core/circuits/circuits.h"
#include "core/results/result_set.h"

namespace headwise {

class BigramCounts;

/// Adds the skip-trigrams whose final bigram never occurs in the text to the results of skip-trigrams.
/// The destinations and outputs of one source are two separate lists.
/// A head that promotes (s … d → o) and (s … d′ → o′) must promote (s … d → o′) too, even if o′ never follows d.
/// \param listed number of absent pairs to list per head
/// Source: Elhage et al. 2021, "Interpretation as Skip-Trigrams" (skip-trigram "bugs").
void addSkipTrigramBugs(ResultSet& results, const BigramCounts& bigrams, Precision precision, int listed);

} // namespace headwise
