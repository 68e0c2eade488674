#pragma once

#include "core/circuits/factored_matrix.h"

#include <vector>

namespace headwise {

/// The order of the rows and columns in the picture of a matrix.
enum class AxisOrder {
    ByIndex,
    ByNorm, ///< Falling Euclidean norm.
    /// By falling entries of u_k and v_k, M = U Σ Vᵀ, with the entry of largest magnitude of u_k positive.
    ByVector,
    ByCluster, ///< clusterOrder, applied to rows and to columns.
};

struct AxisOrders {
    std::vector<int> rows, columns; ///< The index at each position; ties to the lower one.
};

/// \param vector k for ByVector, from 0; past the last vector, the last is used
/// Errors: Corrupt if a number is not finite. Cost: for ByVector, a dense singular value decomposition.
Result<AxisOrders> axisOrders(const Matrix<float>& matrix, AxisOrder order, int vector = 0);

/// The same for a product that is never formed. Cost: O((rows + cols) r²) flops; for ByCluster as clusterOrder.
Result<AxisOrders> axisOrders(const FactoredMatrix<float>& matrix, AxisOrder order, int vector = 0);

} // namespace headwise
