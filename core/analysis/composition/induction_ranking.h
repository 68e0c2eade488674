#pragma once

#include "core/analysis/composition/induction_parts.h"

#include <utility>
#include <vector>

namespace headwise {

/// The head pairs of one model, ranked by how much they look like an induction circuit.
struct InductionRanking {
    std::vector<std::pair<HeadId, HeadId>>
        pairs; ///< Pairs with both pair numbers known, by falling `combined`.

    /// Product of a pair's four percentiles among this model's heads and pairs.
    /// Previous-token scores are ranked among all layers but the last, copying scores among all layers but the first.
    /// An unknown percentile counts as the median. A head marked as a previous-token head counts as 1.
    RealNumbers combined;

    RealNumbers nullProduct; ///< Product of the percentiles within the random baselines.

    /// Share of random draws whose largest product over all pairs is smaller than the pair's `nullProduct`.
    /// The comparison uses the largest of all pairs, because the best of many always looks good.
    RealNumbers nullPercentile;

    Sample maximum; ///< The largest product of each draw.
};

inline constexpr int inductionMaximumDraws = 1000;

/// Errors: Cancelled.
Result<InductionRanking> rankInduction(const AnalysisContext& context, const InductionParts& parts,
                                       const InductionNull& null, const Task& task);

} // namespace headwise
