#pragma once

#include "core/base/matrix.h"
#include "core/base/task.h"

#include <vector>

namespace headwise {

/// Where one entry of a row stands among all entries of that row.
struct EntryRank {
    double value = 0; ///< The entry itself.
    int above = 0;    ///< How many others are larger,
    int below = 0;    ///< smaller,
    int equal = 0;    ///< and just as large.

    bool operator==(const EntryRank&) const = default;
};

/// One entry in each row of a product that is never formed.
struct RankQuestion {
    const Matrix<double>& rowFactors;    ///< [r, n], a row of the product per column here
    const Matrix<double>& colFactors;    ///< [r, cols]
    const std::vector<int>& targets;     ///< [n], the column asked about in each row
    const std::vector<bool>& unusedCols; ///< Never counted; empty: none.
};

/// Counts in float32 what is clearly larger or smaller, and in double what is not, so that the answer is that of a brute-force
/// double product. On the calling thread.
/// Errors: Corrupt if a factor is not finite; Cancelled. Cost: 2 · n · cols · r flops; memory: the column factors once more in
/// float32 and a tile.
Result<std::vector<EntryRank>> entryRanks(const RankQuestion& question, const Task& task);

} // namespace headwise
