#pragma once

#include "core/base/matrix.h"
#include "core/base/task.h"

#include <string_view>

namespace headwise {

/// The factor of a Gram product that is transposed, if any. With the same matrix on both sides the product is symmetric.
enum class Turned { None, Left, Right };

/// Computes left · right, leftᵀ · right or left · rightᵀ in double, [d, d], tile by tile of the result, so that the sum
/// over the vocabulary has the same order for any number of threads. For a symmetric product only the upper tiles are
/// computed. Blocks are cast without transposing them, because a transposing cast takes as long as the product.
/// \param step name of the step in the progress
/// Errors: Cancelled. Cost: 2 V d² flops in double, half of it if symmetric.
template <typename Scalar>
Result<Matrix<double>> gramProduct(const Matrix<Scalar>& left, const Matrix<Scalar>& right, Turned turned,
                                   const Task& task, std::string_view step);

} // namespace headwise
