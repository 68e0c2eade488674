#pragma once

#include "core/base/task.h"
#include "core/model/processing.h"

#include <span>
#include <vector>

namespace headwise {

/// Result of one forward pass over one prompt. n = number of tokens.
template <typename Scalar>
struct ForwardResult {
    Matrix<Scalar> logits; ///< [n, d_vocab_out], soft-capped where the model is.
    /// [layer][head]: [n, n], row = query, column = key; 0 above the diagonal.
    std::vector<std::vector<Matrix<Scalar>>> patterns;
    /// [layer]: [n_heads, n], ‖(Σ_j α_ij v_j) W_O‖₂ with b_V in v, without b_O, before any post-norm.
    std::vector<Matrix<Scalar>> outputNorms;
    std::vector<Matrix<Scalar>> residuals; ///< [n_layers + 1]: [n, d], before each layer and after the last.
};

/// Runs a prompt through the model, layer by layer. It proves the folds and shows the patterns, so clarity comes before speed.
///
/// Errors: InvalidArgument where a field that it depends on is unknown (forwardFields), for an empty prompt, an id outside the vocabulary (named, with its place) or more than n_ctx
/// tokens; Cancelled.
template <typename Scalar>
Result<ForwardResult<Scalar>> forward(const ProcessedWeights& weights, std::span<const int> tokens,
                                      const Task& task);

/// Returns the prompt and `count` more tokens, each the one with the largest logit (ties go to the lower id).
/// Errors: as `forward`, for the whole length; InvalidArgument if a decoded id has no row in W_E.
template <typename Scalar>
Result<std::vector<int>> greedyDecode(const ProcessedWeights& weights, std::vector<int> tokens, int count,
                                      const Task& task);

} // namespace headwise
