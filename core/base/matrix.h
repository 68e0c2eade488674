#pragma once

#include <Eigen/Core>

namespace headwise {

/// Dense column-major matrix and row vector of one scalar (float for storage, double for sums and decompositions).
template <typename Scalar>
using Matrix = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic>;
template <typename Scalar>
using RowVector = Eigen::Matrix<Scalar, 1, Eigen::Dynamic>;

} // namespace headwise
