#pragma once

#include "core/circuits/circuits.h"

#include <array>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace headwise {

/// A side of the singular vectors: First are the columns of U (read by OV, or queries), Second those of V (written by OV,
/// or keys).
enum class VectorSide { First, Second };

/// One side of a circuit's singular directions, and its tokens: W_U for the output of OV, E elsewhere.
struct DirectionSide {
    CircuitKind circuit = CircuitKind::Ov;
    VectorSide side = VectorSide::First;
    std::string_view name;    ///< In array paths: "ov_in".
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
    Eigen::Index rank = 0; ///< Number of σ above d ε σ₁, ε = 2^-23; directions past it are meaningless.

    const Matrix<double>& vectors(VectorSide side) const { return side == VectorSide::First ? U : V; }
};

/// Errors: Corrupt if a weight is not finite.
Result<SingularDirections> singularDirections(const Circuits& circuits, CircuitKind kind, HeadId head);

/// Counts σ > d ε σ₁; 0 for a zero circuit.
Eigen::Index numericalRank(std::span<const double> sigma, int dModel);

/// Assigns each direction to a block, counting from 0. Neighbours whose relative gap (σ_k − σ_{k+1})/σ_k is below 1e-2
/// share a block, because only their joint span is determined. Directions from `rank` on, the null space, form a block of
/// their own.
///
/// The gap is relative to the neighbour, not to σ₁, and the cut-off of the null space is a different number: [1, 8e-3,
/// 2e-4] has three blocks.
/// \param sigma descending
/// Source: TransformerLens, pull request 1768.
std::vector<int> degenerateBlocks(std::span<const double> sigma, Eigen::Index rank);
inline constexpr double degenerateGap = 1e-2;

/// Returns the tokens [first, first + count) of a side as rows, in double: [count, d].
Matrix<double> tokenRows(const TokenSide& tokens, const DirectionSide& side, int layer, Eigen::Index first,
                         Eigen::Index count);
Eigen::Index tokenCount(const TokenSide& tokens, const DirectionSide& side, int layer);

/// Calls body(first, rows [count, d]) for all tokens of a side, in order.
/// Errors: Cancelled.
Result<Done> forEachTokenBlock(const TokenSide& tokens, const DirectionSide& side, int layer,
                               const Task& task,
                               const std::function<void(Eigen::Index, const Matrix<double>&)>& body);

/// Projects each token onto each direction, [tokens, n]. \param directions [d, n]
/// Errors: Cancelled. Cost: 2 V d n flops in double.
Result<Matrix<double>> directionScores(const TokenSide& tokens, const DirectionSide& side, int layer,
                                       const Matrix<double>& directions, const Task& task);

/// Directions grouped into degenerate blocks.
struct DirectionBlocks {
    Matrix<double> directions; ///< [d, n]
    std::vector<int> blocks;   ///< [n], the block of each direction, rising from 0 without gaps
};

/// Length of each token's projection onto the span of each block, ‖row‖₂ of E U_block: [tokens, blocks]. It does not
/// depend on the basis of the spans. Errors: Cancelled. Cost: that of directionScores.
Result<Matrix<double>> spanLengths(const TokenSide& tokens, const DirectionSide& side, int layer,
                                   const DirectionBlocks& of, const Task& task);

/// The work of directionScores per token coordinate beside its product, in flops. With few directions at a time this
/// casting to double dominates.
inline constexpr double flopsPerTokenNumber = 60;

/// Fixes the joint sign of a pair u_k, v_k, which the decomposition leaves open: +1 if the score of largest magnitude
/// among the tokens of the first side is positive, else −1; ties to the lower id. Both vectors are multiplied by it.
/// \param scores E u_k, [V] \param unused true: an id without a token, left out; empty: none
double jointSign(const Eigen::Ref<const Eigen::VectorXd>& scores, const std::vector<bool>& unused);

} // namespace headwise
