#pragma once

#include "core/base/matrix.h"
#include "core/base/task.h"

#include <functional>
#include <vector>

namespace headwise {

/// The largest and the smallest entries of every row of a product that is never formed.
struct RowEnds {
    int k = 0;                  ///< Entries per row; padded with id −1 and NaN where fewer columns count.
    std::vector<int> ids;       ///< [rows, k] columns of the largest, falling, ties to the lower id.
    std::vector<double> values; ///< [rows, k]
    std::vector<int>
        lowestIds; ///< [rows, k] columns of the smallest, rising, ties to the lower id; may be empty.
    std::vector<double> lowestValues; ///< [rows, k]
};

/// Marks of tokens, which may be shorter than a side of a circuit, for all of its lines: what is past the end is left out.
std::vector<bool> marks(const std::vector<bool>& unused, Eigen::Index count);

enum class ScanEnds { Largest, Both };

struct RowScan {
    const Matrix<float>& rowFactors; ///< [r, rows], a row of the product per column here
    const Matrix<float>& colFactors; ///< [r, cols]
    /// One entry in double from the unrounded factors: what decides the ranks and what is returned.
    std::function<double(Eigen::Index row, Eigen::Index col)> exact;
    const std::vector<bool>& unusedRows; ///< Left as padding; empty: none.
    const std::vector<bool>& unusedCols; ///< Never listed; empty: none.
    int k = 10;
    ScanEnds ends = ScanEnds::Both;
};

/// Multiplies tile by tile in float32, keeps the extremes of each few entries of a row, multiplies those few again where the
/// extremes are and ranks what they hold by `exact`.
/// A row whose candidates cannot be told from the rest within float32's rounding is computed exactly as a whole, so that the
/// answer is that of a brute-force double product.
/// Errors: Corrupt (a factor is not finite), Cancelled. Cost: 2 · rows · cols · r flops; memory, besides the answer: the
/// columns once more, and a tile and a 64th of its rows' entries per thread.
Result<RowEnds> scanRows(const RowScan& scan, const Task& task);

} // namespace headwise
