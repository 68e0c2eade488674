#pragma once

#include "core/analysis/shared/norm_divisors.h"

#include <array>
#include <vector>

namespace headwise {

// √r · score = T^ee + T^ep + T^pe + T^pp + T^e + T^p + T_i for a head of layer 0 behind a LayerNorm.
// The first letter is the query's part, the second the key's. T_i is the same for every key, so the softmax ignores it.
// Source: Kamoda et al. 2025, arXiv 2501.15754.

using TermSizes = std::array<double, 7>; ///< Sizes of T^ee, T^ep, T^pe, T^pp, T^e, T^p and T_i.

/// The terms of one head over the n tokens of a prompt, and the score that they must add up to.
struct ScoreTerms {
    std::array<Matrix<double>, 4> pairs; // ee, ep, pe, pp: [n, n], row = query
    RowVector<double> e, p;              // [n], by key
    RowVector<double> constant;          // [n], by query
    Matrix<double> bare;                 // [n, n], ee without its σ
    Matrix<double> score;                // [n, n], (LN(x_i) W_Q + b_Q)(LN(x_j) W_K + b_K)ᵀ

    /// Returns the sum of all terms except the constant: the input of the softmax.
    Matrix<double> six() const;
    /// Returns √(mean of squares) of every term over the visible keys j ≤ i.
    TermSizes sizes() const;
};

/// The parts of a prompt that all heads of layer 0 read.
struct PromptParts {
    Matrix<double> e, p;   // [n, d], as the norm sees them
    Eigen::VectorXd sigma; // [n], of token i at position i
    Matrix<double> normed; // [n, d], LN(e + p) with any parameters that are not folded
};

/// \param ids inside the vocabulary, no more than n_ctx
PromptParts promptParts(const ProcessedWeights& weights, const std::vector<int>& ids);

ScoreTerms scoreTerms(const ProcessedWeights& weights, HeadId head, const PromptParts& parts);

/// Returns the expected `sizes` of heads whose W_QK, b_Q W_Kᵀ and W_Q b_Kᵀ keep their norms but have random directions:
/// E (u M vᵀ)² = ‖u‖² ‖M‖² ‖v‖² / d².
TermSizes randomTermSizes(const FoldedHead& head, const PromptParts& parts);

} // namespace headwise
