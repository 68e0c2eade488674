#pragma once

#include "core/analysis/per_pair.h"

#include <string>
#include <vector>

namespace headwise {

/// The scores that make a pair of heads an induction circuit, from the weights alone (CONTRACTS.md §7).
struct InductionParts {
    /// [L H], scores/previous_token, beyond layer 0 a guess from raw positions; NaN where it is not defined.
    std::vector<double> previousToken;
    std::vector<double> copying; ///< [L H], scores/copying; NaN likewise
    PerPair composition;         ///< K-composition
    PerPair
        matching; ///< Re Σλ/Σ|λ| over the eigenvalues of E W_QK (W_OV)ᵀ Eᵀ, W_QK of the later, W_OV of the earlier head
    std::vector<std::string> warnings = {};
};

/// Errors: Cancelled.
/// Cost: a pair 4 d r² flops and the eigenvalues of one [r, r] matrix; memory: the earlier heads in blocks of 256 MiB.
Result<InductionParts> inductionParts(const AnalysisContext& context, const Task& task);

/// The same four numbers of chance: wherever two parts of the model meet in the residual stream (a head and the tokens, a head
/// and the positions, two heads), the residual directions of one are put into another order at random. So every factor keeps its
/// norm, every circuit its spectrum, and only how they fit together is lost.
struct InductionNull {
    Sample previousToken, copying, composition, matching;
};

inline constexpr int inductionNullDraws = 256; ///< Random pairs with random orders, from options.inputs.seed.

/// Errors: Cancelled.
Result<InductionNull> inductionNull(const AnalysisContext& context, const Task& task);

} // namespace headwise
