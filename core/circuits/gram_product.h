#pragma once

#include "core/base/matrix.h"
#include "core/base/task.h"
#include "core/circuits/token_matrix.h"

#include <functional>
#include <string_view>

namespace headwise {

/// Computes Σ_t l_t r_tᵀ over the vectors of the tokens of two matrices in double, [d, d]: Eᵀ E, W_U W_Uᵀ or W_U E. Blocks of tokens
/// are cast or read once, and each tile of the result adds their product, so that the sum over the vocabulary has the same order for
/// any number of threads. For a product of a matrix with itself only the upper tiles are computed. Each of the task's peers sums its
/// blocks, and all get the whole sum, which only rounding makes depend on their number.
/// \param right as many tokens as `left`; the same object for a product of a matrix with itself. Not columns beside rows.
/// \param step name of the step in the progress
/// Errors: Cancelled. Cost: 2 V d² flops in double, half of it if symmetric. Memory: 2048 tokens of both factors in double.
Result<Matrix<double>> gramProduct(const TokenMatrix& left, const TokenMatrix& right, const Task& task,
                                   std::string_view step);

/// The factor of a product that is transposed, if any.
enum class Turned { None, Left, Right };

/// Computes left · right, leftᵀ · right or left · rightᵀ of square matrices in the same way.
Result<Matrix<double>> squareProduct(const Matrix<double>& left, const Matrix<double>& right, Turned turned,
                                     const Task& task);

/// Sums over the rows of a matrix that is read block by block.
struct RowSums {
    Matrix<double> gram;      ///< [d, d] MᵀM
    RowVector<double> column; ///< [d], sums of the columns
};

/// Computes the sums of a matrix [rows, d] whose rows [first, first + count) `read` returns, from several threads at once.
/// Errors, cost, memory and peers as above.
Result<RowSums> rowSums(Eigen::Index rows, Eigen::Index d,
                        const std::function<Matrix<double>(Eigen::Index first, Eigen::Index count)>& read,
                        const Task& task, std::string_view step);

} // namespace headwise
