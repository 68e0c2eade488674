#pragma once

#include "core/analysis/head_pairs.h"

#include <vector>

namespace headwise {

inline constexpr int overlapTokens = 128;      ///< Maximum number of tokens that heads are compared on.
inline constexpr int overlapGaussianHeads = 8; ///< Random heads whose pairs give the null of CKA.

/// Overlap of the outputs of every pair of selected heads over a sample of tokens, [heads, heads], with random baselines.
struct TokenOverlap {
    Matrix<double>
        jaccard; ///< Mean over tokens of |A ∩ B| / |A ∪ B|, A and B the k largest outputs of both heads.
    Matrix<double> cka; ///< ⟨K, K'⟩_F / (‖K‖_F ‖K'‖_F), K = X Xᵀ, X = E W_OV of the tokens less its mean row.
    double jaccardOfChance = 0; ///< Expected Jaccard index of two random sets of k outputs.
    Sample ckaOfChance;         ///< CKA of pairs of Gaussian heads on the same tokens.
};

/// Draws the sample from the ids that have a token, with options.inputs.seed. k = min(options.tableSize, columns of W_U).
/// Errors: Cancelled.
/// Cost: 2 r V (d + 128) flops per head; memory: 128 KiB per head, and one head's [r, V] outputs per thread.
Result<TokenOverlap> tokenOverlap(const AnalysisContext& context, const Task& task);

} // namespace headwise
