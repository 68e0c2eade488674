#pragma once

#include "core/circuits/circuits.h"

#include <optional>
#include <vector>

namespace headwise {

/// LN(p_i), i = 0 … n − 1, [n, d]: the part of a layer's input that depends on positions alone. The same for every layer
/// once norms are folded.
Matrix<double> positionVectors(const ProcessedWeights& weights, int layer, Eigen::Index n);

/// Scores of positions alone, [n, n]: column = query i, row = key j, so that a query's scores are contiguous. Entries
/// below the diagonal belong to keys after the query.
///
/// s_ij = (LN p_i W_Q + b_Q)(LN p_j W_K + b_K)ᵀ · scale, p = W_pos, LN = the layer's norm (with folded weights only the
/// division by σ(p)), with the soft cap. Learned positions only. Exact for layer 0 only: later layers read moved
/// positions.
/// \param x `positionVectors` of the head's layer
/// Source: CONTRACTS.md §5.
Matrix<double> positionScores(const ProcessedWeights& weights, HeadId head, const Matrix<double>& x);
/// The same for other weights in the place of a head of `layer`.
template <typename Scalar>
Matrix<Scalar> positionScores(const ProcessedWeights& weights, int layer, const HeadWeights<Scalar>& head,
                              const Matrix<Scalar>& x);

/// b(i − j), laid out like `positionScores`: the part of the scores that depends on distance alone, of ALiBi or a learned bias.
Matrix<double> distanceScores(const ProcessedWeights& weights, HeadId head, Eigen::Index n);

/// The same for rotary positions, where the score of a vector with itself depends on the offset alone: s(Δ), Δ = 0 … n −
/// 1.
/// \param mean x̄ [d], the mean token vector, in place of p
/// Source: CONTRACTS.md §5.
RowVector<double> offsetScores(const ProcessedWeights& weights, HeadId head, const RowVector<double>& mean,
                               Eigen::Index n);
/// The same for other weights in the place of a head of `layer`.
RowVector<double> offsetScores(const ProcessedWeights& weights, int layer, const HeadWeights<double>& head,
                               const RowVector<double>& mean, Eigen::Index n);

/// k(Δ), Δ = 0 … n − 1: the mean of the scores along each diagonal, both plain and after subtracting every query's mean
/// over j ≤ i; and the (population) deviation of either along the diagonal.
struct PositionKernel {
    std::vector<double> mean, centred;
    std::vector<double> deviation, centredDeviation;
};

/// \param scores the result of `positionScores`
/// Source: CONTRACTS.md §5.
PositionKernel positionKernel(const Matrix<double>& scores);

/// The keys that a query sees: those of a causal mask, j ≤ i, and i − j < window if there is one; or all.
struct KeysSeen {
    bool isCausal = true;
    int window = 0; ///< Window of the mask; 0: none.

    bool of(Eigen::Index query, Eigen::Index key) const
    {
        return !isCausal || (key <= query && (window == 0 || query - key < window));
    }
};

/// Arranges the scores for a picture, [n, n], row = query i, column = key j; NaN if the query does not see the key.
/// \param scores the result of `positionScores`
/// Source: CONTRACTS.md §5.
Matrix<float> positionPicture(const Matrix<double>& scores, const KeysSeen& seen);

/// Softmax of the scores over the keys that a query sees; 0 elsewhere.
Matrix<float> positionPattern(const Matrix<double>& scores, const KeysSeen& seen = {});

/// \param scores the result of `positionScores`
/// \returns mean over i = 1 … n−1 of softmax_{j ≤ i}(s_ij) at j = i−1; NaN for n < 2.
/// \param window restricts the keys to i − j < window; 0: all
/// \param sink   one more logit of each softmax
template <typename Scalar>
double previousTokenScore(const Matrix<Scalar>& scores, int window = 0, std::optional<double> sink = {});
double previousTokenScore(const RowVector<double>& offsetScores, int window = 0,
                          std::optional<double> sink = {});

} // namespace headwise
