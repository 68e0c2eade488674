#pragma once

#include "core/analysis/head_pairs.h"

#include <string>
#include <vector>

namespace headwise {

// Numbers of every pair of selected heads in any layers, as symmetric matrices in the order of the heads.

/// Returns ⟨A, B⟩_F / (‖A‖_F ‖B‖_F) of the residual circuits of every pair, [heads, heads]. NaN for a zero circuit.
/// \param kind Qk or Ov
/// Errors: Cancelled.
/// Cost: 4 r² d flops per pair; memory: the factors of all heads, in float unless options.precision is F64.
Result<Matrix<double>> circuitCosines(const AnalysisContext& context, CircuitKind kind, const Task& task);

enum class HeadPart { Q, K, V, O };

/// Returns ‖U_Aᵀ U_B‖²_F of the columns of W_Q, W_K, W_V or W_Oᵀ of every pair, [heads, heads]. NaN for a zero matrix.
/// Errors: Cancelled. Cost: 2 r² d flops per pair.
Result<Matrix<double>> projectionKernels(const AnalysisContext& context, HeadPart part, const Task& task);

/// Returns numbers [layer, head, other layer, other head], NaN for unselected heads. \param values [heads, heads]
RealNumbers allPairs(const AnalysisContext& context, const Matrix<double>& values);

} // namespace headwise
