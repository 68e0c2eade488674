#pragma once

#include "core/base/task.h"
#include "core/model/weights.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headwise {

std::string_view mergeName(MergePair pair); ///< "qp", "kp", "vp"
std::optional<MergePair> parseMerge(std::string_view name);

/// First matrix of a pair, which a merge removes: Q, K or V.
struct MergedMatrix {
    TensorKind weight, bias;
    std::string_view letter; ///< "Q", "K", "V"
    int heads = 0;           ///< Number of heads that share its columns.
};
MergedMatrix mergedMatrix(MergePair pair, const ModelConfig& config);

/// Matrix weights by part: no vectors, no positions.
/// Source: Graef, "Transformer tricks: Removing weights for skipless transformers", table 1.
struct WeightCount {
    std::int64_t embedding = 0;  ///< W_E and W_U, once if they are tied
    std::int64_t qpPerLayer = 0; ///< W_Q and W_O; with a latent of queries, the two factors of W_Q
    std::int64_t kvPerLayer = 0; ///< W_K and W_V, or their factors through a latent
    std::int64_t mlpPerLayer =
        0; ///< W_in, W_out and, if gated, W_gate; in a mixture of all experts, and the router
    std::int64_t mlpPerDenseLayer = 0; ///< In the first layers of a mixture that have one MLP instead; else 0
    std::int64_t mlpPerToken = 0;      ///< In all layers, without the experts that a token is not sent to
    std::int64_t total = 0;            ///< embedding + layers · (qp + kv) + the MLPs of all layers
};

WeightCount countWeights(const ModelConfig& config);

/// Smallest condition number at which an inverse is useless.
inline constexpr double worstMergeCondition = 1e7;

/// σ_max / σ_min of a square matrix, from below, to a few per cent; infinite if it is singular, NaN if it holds one.
/// Cost: an LU decomposition and some tens of solves: 5 ms for 768 × 768, where all singular values take 0.3 s.
double conditionNumber(const Matrix<double>& square);

/// W_Q, W_K or W_V of all heads of a layer, [d_model, heads · d_head].
Matrix<double> sideBySide(const ModelWeights& weights, TensorKind kind, int layer, int heads);

/// Savings from removing one pair from the skipless counterpart of a model.
struct Merge {
    MergePair pair = MergePair::QP;
    bool possible =
        false; ///< The matrix that is inverted is square and, with weights at hand, well conditioned.
    bool equivalent = false; ///< The counterpart without the pair computes the same function.
    std::string obstacle;    ///< Why it is not possible, or gives another function; else empty.
    std::string reason;      ///< The obstacle, and the skips and norms that the counterpart lacks.
    std::int64_t weightsTotal = 0;
    std::int64_t weightsRemoved = 0; ///< 0 if it is not possible
    std::vector<double> conditions;  ///< [n_layers] of the matrix that is inverted; empty if not asked for.
    double saving = 0;               ///< removed / total
    double speedup = 1; ///< total / (total − removed): one token at a time, bound by memory bandwidth
};

/// Returns the merges qp, kp, vp, in this order, from the sizes alone.
std::array<Merge, 3> mergesOf(const ModelConfig& config);

/// The same, with the condition numbers of every layer's W_Q, W_K and W_V, each [d_model, heads · d_head] in double.
/// Errors: Cancelled.
/// Cost: three LU decompositions of a d_model² matrix per layer.
Result<std::array<Merge, 3>> mergesOf(const ModelWeights& weights, const Task& task);
/// Returns the merge of one pair.
Result<Merge> mergeOf(const ModelWeights& weights, MergePair pair, const Task& task);

/// Floating-point operations of the forward pass, a multiplication and an addition counted as two.
struct Flops {
    /// Operations for the last token of a full context: 2 · (matrix weights that it meets but W_E) + 4 · layers · n_ctx · heads ·
    /// d_head; the values of latent attention can be narrower than d_head.
    double perToken = 0;
    /// Operations for n_ctx tokens: 2 · n_ctx · (…) + 4 · layers · pairs · heads · d_head; pairs of a query and a key that it sees,
    /// n_ctx · (n_ctx + 1)/2 under the causal mask and n_ctx² without one.
    double perSequence = 0;
};

Flops countFlops(const ModelConfig& config);

} // namespace headwise
