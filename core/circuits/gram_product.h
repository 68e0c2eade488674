#pragma once

#include "core/base/matrix.h"
#include "core/base/task.h"

#include <string_view>

namespace headwise {

/// The factor of a Gram product that is transposed, if any. With one matrix on both sides the product is symmetric.
enum class Turned { None, Left, Right };

/// left · right, leftᵀ · right or left · rightᵀ in double, [d, d], tile by tile of the result, so that the sum over the
/// vocabulary has one order whatever the number of threads; of a symmetric product the upper tiles alone are computed. Blocks
/// are cast as they lie in memory: a cast that turns them takes as long as the product.
/// \param step its name in the progress
/// Errors: Cancelled. Cost: 2 V d² flops in double, half of it where it is symmetric.
template <typename Scalar>
Result<Matrix<double>> gramProduct(const Matrix<Scalar>& left, const Matrix<Scalar>& right, Turned turned,
                                   const Task& task, std::string_view step);

} // namespace headwise
