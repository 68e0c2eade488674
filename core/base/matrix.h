#pragma once

#include "core/base/matrix_product.h"

#include <limits>

namespace headwise {

/// Dense column-major matrix and row vector of one scalar (float for storage, double for sums and decompositions).
template <typename Scalar>
using Matrix = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic>;
template <typename Scalar>
using RowVector = Eigen::Matrix<Scalar, 1, Eigen::Dynamic>;

/// Value of an entry that was not computed, or that is not defined.
inline constexpr double notComputed = std::numeric_limits<double>::quiet_NaN();

} // namespace headwise
