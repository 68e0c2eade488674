#pragma once

#include "core/base/task.h"
#include "core/checkpoint/weight_map.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace headwise {

/// Counts in equal bins from `low` to `high`. Bin i holds low + i·w ≤ x < low + (i + 1)·w with w = (high − low)/bins; the
/// last one holds `high` too. Where all numbers are one number v, the bins run from v − ½ to v + ½, or, if that
/// rounds to v, between v and its neighbour towards zero.
struct Histogram {
    double low = 0, high = 0;
    std::vector<std::int64_t> counts; ///< Empty without a finite number, or if none was asked for.

    bool operator==(const Histogram&) const = default;
};

/// The numbers of a stored tensor as they are in the file, quantised ones as they decode.
struct TensorStatistics {
    std::int64_t count = 0; ///< All elements, finite or not.
    std::int64_t nanCount = 0;
    std::int64_t infinityCount = 0; ///< Positive and negative.
    std::int64_t zeroCount = 0;     ///< Positive and negative.
    // Over the finite elements; NaN if there is none.
    double minimum = 0, maximum = 0, mean = 0;
    double deviation = 0; ///< √(mean of (x − mean)²), the divisor being the number of finite elements.
    Histogram histogram;

    std::int64_t finiteCount() const { return count - nanCount - infinityCount; }
    bool operator==(const TensorStatistics&) const = default;
};

inline constexpr int histogramBins = 64;

/// Everything that is counted, from the mapped file block by block; the tensor is never a whole copy in memory.
///
/// Sums in float64, each block of 2^18 about its own mean, the blocks joined in their order: the same bits for any number of threads.
/// \param bins of the histogram, which takes a second reading; 0: none
/// \returns nothing where the dtype holds no numbers this version decodes (F4, F6, F8 of other kinds, C64)
/// Errors: Io (the file was shortened meanwhile); Cancelled.
/// Source: Chan, Golub, LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances" (1979), for the joining.
Result<std::optional<TensorStatistics>> tensorStatistics(const WeightMap& file, int tensor, int bins,
                                                         const Task& task);

/// The same of several tensors, one after another, each handed over as soon as it is known; progress in megabytes.
/// \param take called on this thread
Result<Done>
tensorStatistics(const WeightMap& file, const std::vector<int>& tensors, int bins,
                 const std::function<void(int tensor, const std::optional<TensorStatistics>&)>& take,
                 const Task& task);

} // namespace headwise
