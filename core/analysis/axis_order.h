#pragma once

#include "core/circuits/factored_matrix.h"

#include <vector>

namespace headwise {

/// In which order the rows and columns of a picture of a matrix stand.
enum class AxisOrder {
    ByIndex,
    ByNorm, ///< Falling Euclidean norm.
    ByFirstVector, ///< Falling entries of u₁ and v₁ of M = U Σ Vᵀ, u₁ with its entry of largest magnitude positive.
};

struct AxisOrders {
    std::vector<int> rows, columns; ///< The index that stands in each place; ties to the lower one.
};

/// Errors: Corrupt if a number is not finite. Cost: of ByFirstVector a dense singular value decomposition.
Result<AxisOrders> axisOrders(const Matrix<float>& matrix, AxisOrder order);

/// The same of a product that is never formed. Cost: O((rows + cols) r²) flops.
Result<AxisOrders> axisOrders(const FactoredMatrix<float>& matrix, AxisOrder order);

} // namespace headwise
