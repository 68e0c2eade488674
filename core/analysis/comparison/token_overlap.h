#pragma once

#include "core/analysis/per_pair.h"

#include <vector>

namespace headwise {

inline constexpr int overlapTokens = 128; ///< How many tokens heads are compared on, where there are so many.

/// What every pair of heads does with a sample of tokens, [heads, heads] over the heads asked for, and what chance does.
struct TokenOverlap {
    Matrix<double>
        jaccard; ///< Mean over tokens of |A ∩ B| / |A ∪ B|, A and B the k largest outputs of both heads.
    Matrix<double> cka; ///< ⟨K, K'⟩_F / (‖K‖_F ‖K'‖_F), K = X Xᵀ, X = E W_OV of the tokens less its mean row.
    double jaccardOfChance = 0; ///< Of two random sets of k outputs.
    Sample ckaOfChance;         ///< Of pairs of Gaussian heads on the same tokens.
};

/// The tokens are drawn from those that have one, with options.inputs.seed; k = min(options.tableSize, columns of W_U).
/// Errors: Cancelled.
/// Cost: a head 2 r V (d + 128) flops; memory: 64 KiB a head, and a head's [r, V] outputs per thread.
Result<TokenOverlap> tokenOverlap(const AnalysisContext& context, const Task& task);

} // namespace headwise
