#pragma once

#include "core/circuits/factored_matrix.h"

#include <optional>
#include <utility>

namespace headwise {

/// Of all entries of a matrix; numbers that are not finite are left out, and 0 entries give NaN.
struct EntryStatistics {
    double mean = 0;
    double deviation = 0; ///< Divisor: the count.
    std::optional<std::pair<double, double>> range =
        {}; ///< The smallest and the largest; none where only factors were read.
};

EntryStatistics entryStatistics(const Matrix<float>& matrix);

/// Mean and deviation of left · right from its factors: 1ᵀ L R 1 and ‖L R‖²_F, O((m + n) r²) however large the product is.
/// NaN where a factor holds a number that is not finite.
EntryStatistics entryStatistics(const FactoredMatrix<float>& product);

} // namespace headwise
