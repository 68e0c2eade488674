#pragma once

#include "core/analysis/composition/induction_parts.h"

#include <utility>
#include <vector>

namespace headwise {

/// The head pairs of one model, ranked by how much they look like an induction circuit.
struct InductionRanking {
    std::vector<std::pair<HeadId, HeadId>>
        pairs; ///< Pairs with both pair numbers known, by falling `combined`.

    /// Product of the four numbers, each 0 at what random weights have or less and 1 at most: previous-token score and
    /// K-composition beyond their baselines' means, same-token score, copying.
    /// A number that no head of the model has is left out. A head marked as a previous-token head counts as 1.
    RealNumbers combined;

    /// Share of draws whose largest `combined` is smaller, the four roles re-paired among this model's heads.
    /// The comparison uses the largest of all pairs, because the best of many always looks good.
    RealNumbers rolePercentile;
    Sample roleMaximum; ///< The largest `combined` of each draw.

    RealNumbers alignmentProduct; ///< Product of four percentiles within the shuffled baselines.
    /// Share of random draws whose largest product over all pairs is smaller than the pair's `alignmentProduct`.
    RealNumbers alignmentPercentile;
    Sample alignmentMaximum; ///< The largest product of each draw.
};

inline constexpr int inductionMaximumDraws = 1000; ///< Draws of the alignment's maximum.
inline constexpr int inductionRoleDraws = 10000;

/// Errors: Cancelled.
Result<InductionRanking> rankInduction(const AnalysisContext& context, const InductionParts& parts,
                                       const InductionNull& null, const Task& task);

} // namespace headwise
