#pragma once

#include "core/circuits/circuits.h"

#include <array>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace headwise {

/// Which singular vectors: First are the columns of U (what OV reads, queries), Second those of V (what OV writes, keys).
enum class VectorSide { First, Second };

/// One side of one circuit's singular directions, and the tokens that stand on it: W_U where OV writes, E elsewhere.
struct DirectionSide {
    CircuitKind circuit = CircuitKind::Ov;
    VectorSide side = VectorSide::First;
    std::string_view name;    ///< In paths: "ov_in".
    std::string_view title;   ///< For people: "read by OV".
    std::string_view formula; ///< "E u_k"

    bool usesUnembedding() const { return circuit == CircuitKind::Ov && side == VectorSide::Second; }
};

inline constexpr std::array<DirectionSide, 4> directionSides{{
    {CircuitKind::Ov, VectorSide::First, "ov_in", "read by OV", "E u_k, W_V W_O = U Σ Vᵀ"},
    {CircuitKind::Ov, VectorSide::Second, "ov_out", "written by OV", "v_kᵀ W_U, W_V W_O = U Σ Vᵀ"},
    {CircuitKind::Qk, VectorSide::First, "qk_query", "queries of QK", "E u_k, W_Q W_Kᵀ = U Σ Vᵀ"},
    {CircuitKind::Qk, VectorSide::Second, "qk_key", "keys of QK", "E v_k, W_Q W_Kᵀ = U Σ Vᵀ"},
}};

/// The singular value decomposition of W_Q W_Kᵀ or W_V W_O, k = min(d, r).
struct SingularDirections {
    Matrix<double> U;      ///< [d, k]
    Eigen::VectorXd S;     ///< [k], descending
    Matrix<double> V;      ///< [d, k]: V itself, not its transpose
    Eigen::Index rank = 0; ///< How many σ lie above d ε σ₁, ε = 2^-23: the others' directions mean nothing.

    const Matrix<double>& vectors(VectorSide side) const { return side == VectorSide::First ? U : V; }
};

/// Errors: Corrupt if a weight is not finite.
Result<SingularDirections> singularDirections(const Circuits& circuits, CircuitKind kind, HeadId head);

/// σ > d ε σ₁ counted; 0 for a zero circuit.
Eigen::Index numericalRank(std::span<const double> sigma, int dModel);

/// The block of each direction, counting from 0: neighbours whose relative gap (σ_k − σ_{k+1})/σ_k is below 1e-2 share one, for
/// there the data fix the span alone. Directions from `rank` on, the null space, share a block of their own.
///
/// The gap is relative to the neighbour, not to σ₁, and the cut-off is another number than the gap: [1, 8e-3, 2e-4] is three.
/// \param sigma descending
/// Source: TransformerLens, pull request 1768; ANALYSES E7.
std::vector<int> degenerateBlocks(std::span<const double> sigma, Eigen::Index rank);
inline constexpr double degenerateGap = 1e-2;

/// Tokens [first, first + count) of a side as rows, in double: [count, d].
Matrix<double> tokenRows(const TokenSide& tokens, const DirectionSide& side, int layer, Eigen::Index first,
                         Eigen::Index count);
Eigen::Index tokenCount(const TokenSide& tokens, const DirectionSide& side, int layer);

/// body(first, rows [count, d]) over all tokens of a side, in order.
/// Errors: Cancelled.
Result<Done> forEachTokenBlock(const TokenSide& tokens, const DirectionSide& side, int layer,
                               const Task& task,
                               const std::function<void(Eigen::Index, const Matrix<double>&)>& body);

/// How strongly each token lies along each direction, [tokens, n]. \param directions [d, n]
/// Errors: Cancelled. Cost: 2 V d n flops in double.
Result<Matrix<double>> directionScores(const TokenSide& tokens, const DirectionSide& side, int layer,
                                       const Matrix<double>& directions, const Task& task);

/// Directions of which some mean something only together.
struct DirectionBlocks {
    Matrix<double> directions; ///< [d, n]
    std::vector<int> blocks;   ///< [n], of each, rising from 0 without gaps
};

/// How far each token reaches into the span of each block, ‖row‖₂ of E U_block: [tokens, blocks]. The same for every basis of the
/// spans. Errors: Cancelled. Cost: that of directionScores.
Result<Matrix<double>> spanLengths(const TokenSide& tokens, const DirectionSide& side, int layer,
                                   const DirectionBlocks& of, const Task& task);

/// Of a product, in the time that directionScores takes to make a double of one number of a token: with few directions at a time
/// that is most of its work.
inline constexpr double flopsPerTokenNumber = 60;

/// THE SIGN of a pair u_k, v_k, which the decomposition leaves open: +1 if the score of largest magnitude among the tokens of the
/// first side is positive, else −1; ties to the lower id. Both vectors are multiplied by it.
/// \param scores E u_k, [V] \param unused true: an id without a token, left out; empty: none
double jointSign(const Eigen::Ref<const Eigen::VectorXd>& scores, const std::vector<bool>& unused);

} // namespace headwise
