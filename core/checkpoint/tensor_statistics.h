#pragma once

#include "core/base/task.h"
#include "core/checkpoint/weight_map.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace headwise {

/// Counts in equal bins from `low` to `high`. Bin i holds low + i·w ≤ x < low + (i + 1)·w with w = (high − low)/bins; the
/// last bin holds `high` too. If all numbers equal one v, the bins run from v − ½ to v + ½, or, if that rounds to v,
/// between v and its neighbour towards zero.
struct Histogram {
    double low = 0, high = 0;
    std::vector<std::int64_t> counts; ///< Empty if no number is finite or no histogram was requested.

    bool operator==(const Histogram&) const = default;
};

/// Statistics of a stored tensor's numbers as they are in the file; quantised ones are decoded.
struct TensorStatistics {
    std::int64_t count = 0; ///< All elements, finite or not.
    std::int64_t nanCount = 0;
    std::int64_t infinityCount = 0; ///< Positive and negative.
    std::int64_t zeroCount = 0;     ///< Positive and negative.
    // Over the finite elements; NaN if there is none.
    double minimum = 0, maximum = 0, mean = 0;
    double deviation = 0; ///< √(mean of (x − mean)²); the divisor is the number of finite elements.
    Histogram histogram;

    std::int64_t finiteCount() const { return count - nanCount - infinityCount; }
    bool operator==(const TensorStatistics&) const = default;
};

inline constexpr int histogramBins = 64;

/// Computes all statistics from the mapped file block by block, never with a whole copy of the tensor in memory.
///
/// Sums are in float64, each block of 2^18 about its own mean, and the blocks are joined in order: the result has the
/// same bits for any number of threads.
/// \param bins of the histogram, which takes a second reading; 0: none
/// \returns nothing if this version cannot decode the dtype (F4, F6, other kinds of F8, C64)
/// Errors: Io (the file was shortened meanwhile); Cancelled.
/// Source: Chan, Golub, LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances" (1979), for
/// joining.
Result<std::optional<TensorStatistics>> tensorStatistics(const WeightMap& file, int tensor, int bins,
                                                         const Task& task);

/// Computes the same for several tensors in turn and hands each result over as soon as it is ready. Progress is in
/// megabytes.
/// \param take called on this thread
Result<Done>
tensorStatistics(const WeightMap& file, const std::vector<int>& tensors, int bins,
                 const std::function<void(int tensor, const std::optional<TensorStatistics>&)>& take,
                 const Task& task);

} // namespace headwise
