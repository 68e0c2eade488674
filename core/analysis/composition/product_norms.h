#pragma once

#include "core/base/matrix.h"
#include "core/base/task.h"

#include <functional>
#include <vector>

namespace headwise {

/// Thin matrices [r, d] that meet: `left[i]` with `right[j]` where i < reach[j] and `isAsked(i, j)`.
template <typename Scalar>
struct ThinPairs {
    const std::vector<Matrix<Scalar>>& left;
    const std::vector<Matrix<Scalar>>& right;
    const std::vector<int>& reach; ///< One per right matrix, rising.
    std::function<bool(int, int)> isAsked;
};

/// Route to the norms of products: the products themselves, or inner products of Gram matrices.
enum class NormRoute { Products, Grams };

/// Returns the operations of the Gram route: d² r per matrix and d² per pair.
double gramOperations(double pairs, double matrices, double r, double d);

/// Returns the bytes that the Gram route takes besides the factors: the sums of all threads and their tiles.
double gramBytes(double left, double right, double d);

/// Computes ‖L_i R_jᵀ‖_F of the requested pairs, [left, right]; NaN elsewhere and where a matrix is not finite.
///
/// With Gram matrices (float32 only): ‖L Rᵀ‖²_F = ⟨LᵀL, RᵀR⟩, summed over tiles of one half of the symmetric [d, d] matrices: d²
/// operations per pair instead of 2 r² d. Rounding leaves an error relative to ‖LᵀL‖ ‖RᵀR‖, so a pair whose square is below 1e-3 of
/// that is multiplied. The sums have the same order for any number of threads.
/// Errors: Cancelled.
template <typename Scalar>
Result<Matrix<double>> productNorms(const ThinPairs<Scalar>& pairs, NormRoute route, const Task& task);

} // namespace headwise
