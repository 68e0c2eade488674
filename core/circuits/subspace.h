#pragma once

#include "core/base/matrix.h"
#include "core/base/result.h"
#include "core/base/task.h"

#include <cstdint>
#include <span>
#include <vector>

namespace headwise {

/// The column space of a weight matrix.
struct Subspace {
    Matrix<double> basis; ///< [d, min(d, r)], orthonormal columns, then zeros past the rank
    Eigen::Index rank = 0;
};

/// Returns the left singular vectors with σ > d ε σ₁, ε = 2^-23, so that rounding to float32 cannot add a direction.
/// \param W [d, r]
/// Errors: Corrupt if a number is not finite.
Result<Subspace> columnSpace(const Matrix<double>& W);

/// Returns the principal angles of two subspaces in degrees, ascending. \param product U_Aᵀ U_B of their orthonormal
/// bases
Result<std::vector<double>> principalAngles(const Matrix<double>& product);

inline constexpr int chanceDraws = 16;

/// Principal angles of two subspaces with their null, in degrees, ascending.
struct PrincipalAngles {
    std::vector<double> angles;   ///< As many as the smaller rank.
    std::vector<double> ofChance; ///< Mean of `chanceDraws` seeded draws of random subspaces of these ranks.
};

/// Errors: InvalidArgument if the two are in different spaces; Cancelled.
/// Cost: a QR decomposition [d, rank] and an SVD of rank × rank for each draw.
/// Source: Björck & Golub 1973.
Result<PrincipalAngles> anglesBetween(const Subspace& a, const Subspace& b, const Task& task);

/// Mean and deviation of a random number; NaN if unknown.
struct Moments {
    double mean = 0, deviation = 0;
};

/// Returns the moments of an equal-weight mixture of these numbers; NaN for none.
Moments mixtureOf(std::span<const Moments> parts);

/// Moments of Σ_ij a_i b_j Q_ij², Q a block of a random orthogonal [d, d] matrix, Σa = Σb = 1: the overlap of two
/// unrelated circuits with the squared singular values a and b. The mean is always 1/d.
/// \param aa, bb Σ a_i², Σ b_j²
/// \returns deviation NaN for d < 2
/// Source: the fourth moments of orthogonal matrices, Collins & Śniady 2006, §4.
Moments overlapMoments(double aa, double bb, Eigen::Index d);

/// Returns rows [0, rows) and columns [0, cols) of a random orthogonal [d, d] matrix: the product of the bases of two
/// unrelated subspaces. Both sizes are at most d.
Result<Matrix<double>> randomOverlap(Eigen::Index d, Eigen::Index rows, Eigen::Index cols,
                                     std::uint64_t seed);

} // namespace headwise
