#pragma once

#include "core/base/matrix.h"
#include "core/base/task.h"

#include <vector>

namespace headwise {

/// Mean and deviation of every row of a matrix, to rank an entry within its row.
struct RowMoments {
    Eigen::VectorXd mean, deviation; ///< [rows], population deviation; NaN for rows left out.
    Eigen::Index entries = 0;        ///< Number of columns in use.
};

/// Returns the indices below `count` that are in use. \param unused true or past the end: left out; empty: none
std::vector<int> usedIds(const std::vector<bool>& unused, Eigen::Index count);

/// Rows and columns of a product that are left out, as for `usedIds`.
struct LeftOut {
    const std::vector<bool>& rows;
    const std::vector<bool>& cols;
};

/// Computes the row moments of left · right without forming it: l·r̄ and √(l C lᵀ), where r̄ and C are the mean and the
/// covariance of the columns in use, in double. The result does not depend on the number of threads.
/// \param left [rows, inner] \param right [inner, cols]; Scalar float or double
/// Errors: Cancelled. Cost: inner² (cols + 2 rows) flops.
template <typename Scalar>
Result<RowMoments> rowMoments(const Matrix<Scalar>& left, const Matrix<Scalar>& right, const LeftOut& leftOut,
                              const Task& task);

/// Expected `count` largest entries of a row if they were independent and Gaussian, in deviations above its mean; NaN if
/// the row has fewer entries.
std::vector<double> gaussianPlaces(int count, Eigen::Index entries);
inline constexpr const char* gaussianPlacesFormula =
    "Φ⁻¹(1 − (rank − ½)/n), rank = 1 …, n the tokens in use: how many deviations above its mean the largest of independent Gaussian entries would lie";
inline constexpr const char* gaussianPlacesNote =
    "The largest of Gaussian entries, in deviations above their mean, by rank. Compare it with (value − mean)/deviation of a table's entry.";

} // namespace headwise
