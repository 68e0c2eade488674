#pragma once

#include "core/base/matrix.h"
#include "core/base/task.h"

#include <functional>
#include <vector>

namespace headwise {

/// The largest and the smallest entries of every row of a product that is never formed.
struct RowEnds {
    int k = 0;                  ///< Entries per row; padded with id −1 and NaN if fewer columns are in use.
    std::vector<int> ids;       ///< [rows, k] columns of the largest, falling, ties to the lower id.
    std::vector<double> values; ///< [rows, k]
    std::vector<int>
        lowestIds; ///< [rows, k] columns of the smallest, rising, ties to the lower id; may be empty.
    std::vector<double> lowestValues; ///< [rows, k]
};

/// Extends marks of tokens, which may be shorter than a side of a circuit, to all of its lines; past the end all are left
/// out.
std::vector<bool> marks(const std::vector<bool>& unused, Eigen::Index count);

enum class ScanEnds { Largest, Both };

struct RowScan {
    const Matrix<float>& rowFactors; ///< [r, rows], one column per row of the product
    const Matrix<float>& colFactors; ///< [r, cols]
    /// One entry in double from the unrounded factors. It decides the ranks and is returned.
    std::function<double(Eigen::Index row, Eigen::Index col)> exact;
    const std::vector<bool>& unusedRows; ///< Left as padding; empty: all are in use.
    const std::vector<bool>& unusedCols; ///< Never listed; empty: all are in use.
    int k = 10;
    ScanEnds ends = ScanEnds::Both;
};

/// Finds the ends of every row. It multiplies tile by tile in float32 and keeps the extremes of each chunk of a row. Then
/// it multiplies the few best chunks again and ranks their entries by `exact`. A row whose candidates float32's rounding
/// cannot separate is computed exactly as a whole, so the answer is that of a brute-force double product.
/// Errors: Corrupt (a factor is not finite), Cancelled. Cost: 2 · rows · cols · r flops. Memory besides the answer: one
/// more copy of the columns, and per thread the factors of 512 rows and a 64th of their entries for each end.
Result<RowEnds> scanRows(const RowScan& scan, const Task& task);

} // namespace headwise
