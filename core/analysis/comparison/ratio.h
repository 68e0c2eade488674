#pragma once

#include "core/base/matrix.h"

namespace headwise {

/// Entries whose magnitude is at most this share of the root mean square of all are too small to divide by.
inline constexpr double smallestDivisor = 0.01;

/// a / b, entry by entry; NaN where |b| ≤ `smallestDivisor` times the root mean square of the finite entries of b, and where
/// either is not finite. \param a, b of one size
Eigen::MatrixXf ratioOf(const Eigen::MatrixXf& a, const Eigen::MatrixXf& b);

} // namespace headwise
