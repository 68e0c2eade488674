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
    /// \param side [d, r]
    void copyTo(Eigen::Ref<Matrix<Scalar>> side) const;

private:
    Eigen::Index m_height = 1;
    Matrix<Scalar> m_numbers; // [height · r, strips]
};

/// Says which left matrix meets which side.
using MeetingChoice = std::function<bool(int left, int side)>;

/// Thin matrices [d, r] that meet: `left[i]` with `right[j]` where i < reach[j] and `isAsked(i, j)`.
struct ThinPairs {
    const std::vector<Strips<float>>& left;
    const std::vector<Strips<float>>& right;
    const std::vector<int>& reach; ///< One per right matrix, rising.
    MeetingChoice isAsked;
};

/// Sides A R_jᵀ [d, r] in groups that share A. Sides are numbered from group to group.
template <typename Scalar>
struct SharedSides {
    struct Group {
        int reach = 0;        ///< The left matrices before this one meet the group.
        Matrix<Scalar> roots; ///< [sides · r, r], each R_j; empty for one side that is A itself.
    };

    Matrix<Scalar> factors;    ///< [d, groups · r], the A of each.
    std::vector<Group> groups; ///< By rising reach.

    Eigen::Index width() const { return factors.cols() / static_cast<Eigen::Index>(groups.size()); } ///< r
    int sides(const Group& group) const
    {
        return group.roots.size() == 0 ? 1 : static_cast<int>(group.roots.rows() / width());
    }
};

/// Route to the norms of products: the products themselves, or inner products of Gram matrices.
enum class NormRoute { Products, Grams };

/// Return the operations of the Gram route: d² r per matrix, and d² per pair.
double gramTileOperations(double matrices, double r, double d);
double gramPairOperations(double pairs, double d);

/// Returns the bytes that the Gram route takes besides the factors: the sums of all threads and their tiles.
double gramBytes(double left, double right, double d);

/// Computes ‖L_iᵀ A R_jᵀ‖_F of the requested pairs, [left, sides]; NaN elsewhere and where a matrix is not finite. L_iᵀ A is multiplied once
/// for all sides of a group: 2 r² d operations, and 2 r³ per side.
/// Errors: Cancelled.
template <typename Scalar>
Result<Matrix<double>> normsByProducts(const std::vector<Strips<Scalar>>& left,
                                       const SharedSides<Scalar>& right, const MeetingChoice& isAsked,
                                       const Task& task);

/// Computes ‖L_iᵀ R_j‖_F of the requested pairs, [left, right]; NaN likewise.
///
/// ‖Lᵀ R‖²_F = ⟨L Lᵀ, R Rᵀ⟩, summed over tiles of one half of the symmetric [d, d] matrices: d² operations per pair instead of 2 r² d.
/// Rounding leaves an error relative to ‖L Lᵀ‖ ‖R Rᵀ‖, so a pair whose square is below 1e-3 of that is multiplied. The sums have the same
/// order for any number of threads.
/// Errors: Cancelled.
Result<Matrix<double>> normsByGrams(const ThinPairs& pairs, const Task& task);

} // namespace headwise
