#pragma once

#include "core/analysis/per_pair.h"

#include <string>
#include <vector>

namespace headwise {

// Numbers of every pair of heads, whatever their layers: symmetric matrices over the heads asked for, in order.

/// ⟨A, B⟩_F / (‖A‖_F ‖B‖_F) of the residual circuits of every pair, [heads, heads]; NaN for a zero circuit.
/// \param kind Qk or Ov
/// Errors: Cancelled.
/// Cost: a pair 4 r² d flops; memory: the factors of all heads, in float unless options.precision is F64.
Result<Matrix<double>> circuitCosines(const AnalysisContext& context, CircuitKind kind, const Task& task);

enum class HeadPart { Q, K, V, O };

/// ‖U_Aᵀ U_B‖²_F of the columns of W_Q, W_K, W_V or W_Oᵀ of every pair, [heads, heads]; NaN for a zero matrix.
/// Errors: Cancelled. Cost: a pair 2 r² d flops.
Result<Matrix<double>> projectionKernels(const AnalysisContext& context, HeadPart part, const Task& task);

/// [layer, head, other layer, other head], NaN for heads not asked for. \param values [heads, heads]
ResultArray allPairsArray(const AnalysisContext& context, const Matrix<double>& values, std::string path);

} // namespace headwise
