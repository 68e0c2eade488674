#pragma once

#include "core/analysis/composition/induction_parts.h"

#include <utility>
#include <vector>

namespace headwise {

/// The pairs of one model by how much they look like an induction circuit.
struct InductionRanking {
    std::vector<std::pair<HeadId, HeadId>>
        pairs; ///< By falling `combined`; those of which both pair numbers are known.

    /// Product of where the four numbers of a pair stand among this model's heads and pairs: previous-token scores among all but
    /// the last layer's, copying among all but the first layer's. What is not known counts as the median, a head marked as a previous-token head as 1.
    PerPair combined;

    PerPair nullProduct; ///< The same of where they stand among those of chance.

    /// Share of draws in which the largest `nullProduct` of all pairs is smaller, if every percentile were chance. The largest of
    /// all pairs, because the best of many always looks good.
    PerPair nullPercentile;

    Sample maximum; ///< These largest products.
};

inline constexpr int inductionMaximumDraws = 1000;

/// Errors: Cancelled.
Result<InductionRanking> rankInduction(const AnalysisContext& context, const InductionParts& parts,
                                       const InductionNull& null, const Task& task);

} // namespace headwise
