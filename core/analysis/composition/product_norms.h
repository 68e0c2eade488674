#pragma once

#include "core/base/matrix.h"
#include "core/base/task.h"

#include <functional>
#include <vector>

namespace headwise {

/// A thin matrix [d, r] in strips of rows, each one piece of memory, so that BLAS multiplies two strips where they lie. All strips are of
/// one height; zeros fill the last.
template <typename Scalar>
class Strips {
public:
    static constexpr Eigen::Index most = 96; ///< Rows of a strip.

    Strips() = default;
    explicit Strips(const Matrix<Scalar>& side);

    Eigen::Index count() const { return m_numbers.cols(); }
    Eigen::Index height() const { return m_height; }
    /// [height, r]
    Eigen::Map<const Matrix<Scalar>> operator[](Eigen::Index strip) const
    {
        return {m_numbers.col(strip).data(), m_height, m_numbers.rows() / m_height};
    }

private:
    Eigen::Index m_height = 1;
    Matrix<Scalar> m_numbers; // [height · r, strips]
};

/// Thin matrices [d, r] that meet: `left[i]` with `right[j]` where i < reach[j] and `isAsked(i, j)`.
template <typename Scalar>
struct ThinPairs {
    const std::vector<Strips<Scalar>>& left;
    const std::vector<Strips<Scalar>>& right;
    const std::vector<int>& reach; ///< One per right matrix, rising.
    std::function<bool(int, int)> isAsked;
};

/// Route to the norms of products: the products themselves, or inner products of Gram matrices.
enum class NormRoute { Products, Grams };

/// Returns the operations of the Gram route: d² r per matrix and d² per pair.
double gramOperations(double pairs, double matrices, double r, double d);

/// Returns the bytes that the Gram route takes besides the factors: the sums of all threads and their tiles.
double gramBytes(double left, double right, double d);

/// Computes ‖L_iᵀ R_j‖_F of the requested pairs, [left, right]; NaN elsewhere and where a matrix is not finite.
///
/// With Gram matrices (float32 only): ‖Lᵀ R‖²_F = ⟨L Lᵀ, R Rᵀ⟩, summed over tiles of one half of the symmetric [d, d] matrices: d²
/// operations per pair instead of 2 r² d. Rounding leaves an error relative to ‖L Lᵀ‖ ‖R Rᵀ‖, so a pair whose square is below 1e-3 of
/// that is multiplied. The sums have the same order for any number of threads.
/// Errors: Cancelled.
template <typename Scalar>
Result<Matrix<double>> productNorms(const ThinPairs<Scalar>& pairs, NormRoute route, const Task& task);

} // namespace headwise
