#pragma once

#include "core/circuits/factored_matrix.h"

#include <vector>

namespace headwise {

/// In which order the rows and columns of a picture of a matrix stand.
enum class AxisOrder {
    ByIndex,
    ByNorm, ///< Falling Euclidean norm.
    ByVector, ///< Falling entries of u_k and v_k of M = U Σ Vᵀ, u_k with its entry of largest magnitude positive.
    ByCluster, ///< clusterOrder of the rows, and of the columns.
};

struct AxisOrders {
    std::vector<int> rows, columns; ///< The index that stands in each place; ties to the lower one.
};

/// \param vector k of ByVector, from 0; a matrix of fewer takes its last
/// Errors: Corrupt if a number is not finite. Cost: of ByVector a dense singular value decomposition.
Result<AxisOrders> axisOrders(const Matrix<float>& matrix, AxisOrder order, int vector = 0);

/// The same of a product that is never formed. Cost: O((rows + cols) r²) flops, of ByCluster that of clusterOrder.
Result<AxisOrders> axisOrders(const FactoredMatrix<float>& matrix, AxisOrder order, int vector = 0);

} // namespace headwise
