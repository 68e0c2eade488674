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
    std::size_t count = 0;             ///< How many; all of them where there are fewer.
    std::vector<bool> unusedRows = {}; ///< true or past the end: left out; empty: none.
    std::vector<bool> unusedCols = {};
};

/// The `count` largest entries of a product that is never formed, falling; ties to the lower row, then to the lower column.
///
/// |l_i · r_j| ≤ ‖l_i T‖ ‖T⁻¹ r_j‖ for every T; the one taken gives both factors the same Gram matrix, which makes the sum
/// of the squared bounds least and does not depend on the basis of the head. Rows and columns are sorted by their lengths,
/// tiles of the sorted matrix multiplied in float32 from the largest bound down, and those whose bound is below the
/// `count`-th best entry so far never. Entries are ranked in double: the answer is that of a brute-force double product,
/// whatever the number of threads.
/// Errors: Corrupt if a factor holds a number that is not finite; Cancelled; OutOfMemory.
/// Cost: at most 2 · rows · cols · inner flops; a second copy of the factors and 2 · count entries in memory.
/// Source: ANALYSES §1, trick 3.
Result<std::vector<MatrixEntry>> largestEntries(const FactoredMatrix<double>& matrix,
                                                const EntrySearch& search, const Task& task);

/// Their null: where the `count` largest would lie if the entries of the rows and columns in use were independent and Gaussian,
/// of the mean and the deviation that these entries have. Falling; as many as `largestEntries` finds.
/// Cost: 2 (rows + cols) inner² flops.
std::vector<double> largestGaussianEntries(const FactoredMatrix<double>& matrix, const EntrySearch& search);

} // namespace headwise
