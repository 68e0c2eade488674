#pragma once

#include "core/base/matrix.h"
#include "core/base/result.h"
#include "core/base/task.h"

#include <cstdint>
#include <span>
#include <vector>

namespace headwise {

/// What the columns of a weight span.
struct Subspace {
    Matrix<double> basis; ///< [d, min(d, r)], orthonormal columns, then zeros beyond the rank
    Eigen::Index rank = 0;
};

/// The left singular vectors with σ > d ε σ₁, ε = 2^-23: what storage in float32 cannot have made up.
/// \param W [d, r]
/// Errors: Corrupt if a number is not finite.
Result<Subspace> columnSpace(const Matrix<double>& W);

/// Principal angles of two subspaces in degrees, ascending. \param product U_Aᵀ U_B of their orthonormal bases
Result<std::vector<double>> principalAngles(const Matrix<double>& product);

inline constexpr int chanceDraws = 16;

/// Principal angles of two subspaces beside what chance gives, degrees, ascending.
struct PrincipalAngles {
    std::vector<double> angles; ///< As many as the smaller rank.
    std::vector<double>
        ofChance; ///< The mean of `chanceDraws` seeded draws of random subspaces of these ranks.
};

/// Errors: InvalidArgument if the two are of different spaces; Cancelled.
/// Cost: a QR decomposition [d, rank] and an SVD of rank × rank for each draw.
/// Source: Björck & Golub 1973.
Result<PrincipalAngles> anglesBetween(const Subspace& a, const Subspace& b, const Task& task);

/// Mean and deviation of a random number, where they are known.
struct Moments {
    double mean = 0, deviation = 0;
};

/// Of a number that is as often like one of these as like another; NaN without any.
Moments mixtureOf(std::span<const Moments> parts);

/// Of Σ_ij a_i b_j Q_ij², Q a block of a random orthogonal [d, d] matrix, Σa = Σb = 1: how two unrelated circuits with the
/// squared singular values a and b overlap. The mean is 1/d whatever they are.
/// \param aa, bb Σ a_i², Σ b_j²
/// \returns deviation NaN for d < 2
/// Source: the fourth moments of orthogonal matrices, Collins & Śniady 2006, §4.
Moments overlapMoments(double aa, double bb, Eigen::Index d);

/// Rows [0, rows), columns [0, cols) of a random orthogonal [d, d] matrix: what the bases of two unrelated subspaces
/// multiply to. Both at most d.
Result<Matrix<double>> randomOverlap(Eigen::Index d, Eigen::Index rows, Eigen::Index cols,
                                     std::uint64_t seed);

} // namespace headwise
