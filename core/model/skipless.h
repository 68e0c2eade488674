#pragma once

#include "core/model/merges.h"
#include "core/model/processing.h"

#include <array>
#include <span>
#include <vector>

namespace headwise {

/// The counterpart of a model without skip connections and normalisation: another function of the same matrices.
///
/// A block is mlp(attention(x)); attention(x) without MLPs; attention(x) + mlp(x) where the two stand side by side. Every norm
/// goes with its parameters, those of queries, keys and the embedding too; the one inside solu_ln is part of the activation and
/// stays. A skipless model is its own counterpart.
/// Source: Graef, "Transformer tricks: Removing weights for skipless transformers", figures 1 and 3.
ModelWeights skiplessCounterpart(const ModelWeights& weights);

/// Whether the model can lose one of Q, K, V or P but not a pair: parallel blocks, and blocks without MLPs.
bool losesOneMatrix(const ModelConfig& config);

/// Returns a sentence on why the pair cannot be merged; empty if it can.
/// Errors: Cancelled.
Result<std::string> whyNotMerge(const ProcessedWeights& weights, MergePair pair, const Task& task);

/// A skipless model without one pair of matrices, which are multiplied into their neighbours: the same function.
///
/// T = Q, K or V of a layer, its heads side by side, and t its bias. What enters the layer becomes x T + t:
///   W_out ← W_out T, b_out ← b_out T + t of the layer before; before the first W_E ← W_E T + t, W_pos ← W_pos T;
///   the other two of Q, K, V: X ← T⁻¹ X, b ← b − t T⁻¹ X;
///   what the MLP reads with: M ← P M, b ← b + b_O M.
/// Where the model loses one matrix, T alone goes, which is the same function too, and P stays; `merged` is then not set:
///   P ← P T, b_O ← b_O T + t of the layer before; what the MLP reads with: M ← T⁻¹ M, b ← b − t T⁻¹ M.
/// Rotary positions, ALiBi, windows and soft caps act on queries, keys and scores, which stay as they were.
/// Source: Graef, table 1; the biases: CONTRACTS.md §10.
/// Errors: InvalidArgument as whyNotMerge, or where T has no inverse; Cancelled.
/// Cost: an LU decomposition of a d_model² matrix per layer. Memory: the two matrices that stay, in double.
Result<ProcessedWeights> mergePair(const ProcessedWeights& skipless, MergePair pair, const Task& task);

/// `count` ids, fewer where the context is shorter: std::mt19937 with this seed, modulo d_vocab; the same on every machine.
std::vector<int> seededTokens(const ModelConfig& config, int count, unsigned seed);

/// Difference between two models of one function when both are stored and computed in one precision:
/// max |logits − logits'| / max |logits'|. bf16: weights in bfloat16, sums in float32.
struct OutputErrors {
    double f64 = 0, f32 = 0, bf16 = 0;
};

/// The logits of one model stored and computed in float64, float32 and bfloat16, [tokens, V] each, in double.
using RoundedLogits = std::array<Matrix<double>, 3>;

/// The three run side by side, a layer at a time, so that what they have in common is formed once.
/// \param weights of a skipless model, not rounded
/// Errors: those of `forward`.
Result<RoundedLogits> roundedLogits(const ProcessedWeights& weights, std::span<const int> tokens,
                                    const Task& task);

/// \param unmerged the logits'
OutputErrors outputErrors(const RoundedLogits& merged, const RoundedLogits& unmerged);
/// Returns the error of rounding alone: float32 and bfloat16 against float64.
OutputErrors roundingErrors(const RoundedLogits& logits);

/// \param merged, unmerged what is compared; `unmerged` are the logits'
/// Errors: those of `forward`.
Result<OutputErrors> outputErrors(const ProcessedWeights& merged, const ProcessedWeights& unmerged,
                                  std::span<const int> tokens, const Task& task);

} // namespace headwise
