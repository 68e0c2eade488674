#pragma once

#include "core/base/task.h"
#include "core/circuits/factored_matrix.h"

#include <cstddef>
#include <vector>

namespace headwise {

/// One entry of a large matrix.
struct MatrixEntry {
    int row = 0;
    int col = 0;
    double value = 0;

    bool operator==(const MatrixEntry&) const = default;
};

struct EntrySearch {
    std::size_t count = 0;             ///< Number of entries; fewer if the matrix has fewer.
    std::vector<bool> unusedRows = {}; ///< True or past the end: left out; empty: all rows count.
    std::vector<bool> unusedCols = {};
};

/// Finds the `count` largest entries of a product that is never formed, falling; ties to the lower row, then to the lower
/// column.
///
/// For every T, |l_i · r_j| ≤ ‖l_i T‖ ‖T⁻¹ r_j‖. The T chosen gives both factors the same Gram matrix, which minimises
/// the sum of the squared bounds and does not depend on the basis of the head. Rows and columns are sorted by these
/// lengths. Tiles of the sorted matrix are multiplied in float32 from the largest bound down; tiles whose bound is below
/// the `count`-th best entry so far are skipped. Entries are ranked in double, so the answer is that of a brute-force
/// double product for any number of threads (CONTRACTS.md §9).
/// Errors: Corrupt if a factor holds a number that is not finite; Cancelled; OutOfMemory.
/// Cost: at most 2 · rows · cols · inner flops; a second copy of the factors and 2 · count entries in memory.
Result<std::vector<MatrixEntry>> largestEntries(const FactoredMatrix<double>& matrix,
                                                const EntrySearch& search, const Task& task);

/// Returns their null: the expected `count` largest values if the entries in use were independent and Gaussian, with
/// these entries' mean and deviation. Falling; as many as `largestEntries` finds.
/// Cost: 2 (rows + cols) inner² flops.
std::vector<double> largestGaussianEntries(const FactoredMatrix<double>& matrix, const EntrySearch& search);

} // namespace headwise
