#pragma once

#include "core/circuits/factored_matrix.h"

#include <optional>
#include <utility>

namespace headwise {

/// Statistics of the finite entries of a matrix; NaN if there are none.
struct EntryStatistics {
    double mean = 0;
    double deviation = 0; ///< Divisor: the count.
    std::optional<std::pair<double, double>> range =
        {}; ///< The smallest and the largest; none where only factors were read.
};

EntryStatistics entryStatistics(const Matrix<float>& matrix);

/// Computes mean and deviation of left · right from its factors: 1ᵀ L R 1 and ‖L R‖²_F, O((m + n) r²) however large the product
/// is. NaN where a factor holds NaN or infinity.
EntryStatistics entryStatistics(const FactoredMatrix<float>& product);

} // namespace headwise
