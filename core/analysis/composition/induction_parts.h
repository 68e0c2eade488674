#pragma once

#include "core/analysis/head_pairs.h"

#include <string>
#include <vector>

namespace headwise {

/// The scores that make a pair of heads an induction circuit, from the weights alone (CONTRACTS.md §7).
struct InductionParts {
    /// Per head, scores/previous_token; NaN if undefined. Beyond layer 0 it is an estimate from raw positions.
    RealNumbers previousToken;
    RealNumbers copying;     ///< Per head, scores/copying; NaN if undefined.
    RealNumbers composition; ///< Per pair, K-composition.
    /// Per pair, Re Σλ/Σ|λ| over the eigenvalues of E W_QK (W_OV)ᵀ Eᵀ, W_QK of the later, W_OV of the earlier head.
    RealNumbers matching;
    RealNumbers sameToken; ///< Per pair, how close that circuit is to a projection (PairNumbers).
    std::vector<std::string> warnings = {};
};

/// Errors: Cancelled.
/// Cost: 4 d r² flops and the eigenvalues of one [r, r] matrix per pair; memory: the earlier heads in blocks of 256 MiB.
Result<InductionParts> inductionParts(const AnalysisContext& context, const Task& task);

/// The random baselines of the same four numbers. Two parts of the model meet in the residual stream:
/// a head and the tokens, a head and the positions, or two heads. The baseline shuffles the residual directions of one part.
/// Every factor keeps its norm and every circuit its spectrum; only their alignment is lost.
struct InductionNull {
    Sample previousToken, copying, composition, matching;
};

inline constexpr int inductionNullDraws = 256; ///< Random pairs; their seed is options.inputs.seed.

/// Errors: Cancelled.
Result<InductionNull> inductionNull(const AnalysisContext& context, const Task& task);

} // namespace headwise
