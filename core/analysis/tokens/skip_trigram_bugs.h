#pragma once

#include "core/results/results.h"

#include <vector>

namespace headwise {

class BigramCounts;

/// Contracts of "analyses/skip_trigrams/absent_…" and "…/ranked_count".
std::vector<ArraySpec> skipTrigramBugsArrays();

/// Puts the skip-trigrams whose final bigram never occurs in the text beside the results of skip-trigrams.
/// The destinations and outputs of one source are two separate lists.
/// A head that promotes (s … d → o) and (s … d′ → o′) must promote (s … d → o′) too, even if o′ never follows d.
/// \param listed number of absent pairs to list per head
/// Source: Elhage et al. 2021, "Interpretation as Skip-Trigrams" (skip-trigram "bugs").
void putSkipTrigramBugs(Results& results, const BigramCounts& bigrams, int listed);

} // namespace headwise
