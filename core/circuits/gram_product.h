#pragma once

#include "core/base/matrix.h"
#include "core/base/task.h"

#include <functional>
#include <string_view>

namespace headwise {

/// The factor of a Gram product that is transposed, if any. With the same matrix on both sides the product is symmetric.
enum class Turned { None, Left, Right };

/// Computes left · right, leftᵀ · right or left · rightᵀ in double, [d, d]. Blocks of tokens are cast once, without transposing
/// them, and each tile of the result adds their product, so that the sum over the vocabulary has the same order for any number
/// of threads. For a symmetric product only the upper tiles are computed.
/// \param step name of the step in the progress
/// Errors: Cancelled. Cost: 2 V d² flops in double, half of it if symmetric. Memory: 2048 tokens of both factors in double.
template <typename Scalar>
Result<Matrix<double>> gramProduct(const Matrix<Scalar>& left, const Matrix<Scalar>& right, Turned turned,
                                   const Task& task, std::string_view step);

/// Sums over the rows of a matrix that is read block by block.
struct RowSums {
    Matrix<double> gram;      ///< [d, d] MᵀM
    RowVector<double> column; ///< [d], sums of the columns
};

/// Computes the sums of a matrix [rows, d] whose rows [first, first + count) `read` returns, from several threads at once.
/// Errors, cost and memory as above.
Result<RowSums> rowSums(Eigen::Index rows, Eigen::Index d,
                        const std::function<Matrix<double>(Eigen::Index first, Eigen::Index count)>& read,
                        const Task& task, std::string_view step);

} // namespace headwise
