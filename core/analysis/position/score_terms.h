#pragma once

#include "core/analysis/shared/norm_divisors.h"

#include <array>
#include <vector>

namespace headwise {

// √r · score = T^ee + T^ep + T^pe + T^pp + T^e + T^p + T_i for a head of layer 0 behind a LayerNorm. The first letter is the
// query's part, the second the key's; T_i is the same for every key, so that no softmax sees it.
// Source: Kamoda et al. 2025, arXiv 2501.15754.

using TermSizes = std::array<double, 7>; ///< Of T^ee, T^ep, T^pe, T^pp, T^e, T^p and T_i.

/// The terms of one head over the n tokens of a prompt, and what they must add up to.
struct ScoreTerms {
    std::array<Matrix<double>, 4> pairs; // ee, ep, pe, pp: [n, n], row = query
    RowVector<double> e, p;              // [n], by key
    RowVector<double> constant;          // [n], by query
    Matrix<double> bare;                 // [n, n], ee without its σ
    Matrix<double> score;                // [n, n], (LN(x_i) W_Q + b_Q)(LN(x_j) W_K + b_K)ᵀ

    /// All but the constant: what the softmax sees.
    Matrix<double> six() const;
    /// √(mean of squares) of every term over the keys j ≤ i that a query sees.
    TermSizes sizes() const;
};

/// What all heads of layer 0 read of a prompt.
struct PromptParts {
    Matrix<double> e, p;   // [n, d], as the norm sees them
    Eigen::VectorXd sigma; // [n], of token i at position i
    Matrix<double> normed; // [n, d], LN(e + p) with what is left of its parameters
};

/// \param ids inside the vocabulary, no more than n_ctx
PromptParts promptParts(const ProcessedWeights& weights, const std::vector<int>& ids);

ScoreTerms scoreTerms(const ProcessedWeights& weights, HeadId head, const PromptParts& parts);

/// What `sizes` gives on average for heads whose W_QK, b_Q W_Kᵀ and W_Q b_Kᵀ keep their norms and lose their directions:
/// E (u M vᵀ)² = ‖u‖² ‖M‖² ‖v‖² / d².
TermSizes randomTermSizes(const FoldedHead& head, const PromptParts& parts);

} // namespace headwise
