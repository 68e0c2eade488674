#pragma once

#include "core/base/matrix.h"
#include "core/circuits/head_factors.h"

#include <optional>

namespace headwise {

// ‖L R · A B‖_F = ‖(R_L R) (A R_Bᵀ)‖_F, where R_L and R_B are what QR leaves of the outer factors: only thin matrices meet.
// Each side is divided by its circuit's norm, so that the norm of the product is the score (product_norms.h). Permuting cyclically inside the
// norm would be shorter and wrong (Elhage et al. 2021, correction).

/// The circuit by which a later head reads: W_QK, its transpose or W_OV.
enum class Mode { Q, K, V };

/// A head's circuit inner · outerᵀ, both [d, r], with their Gram matrices.
struct ThinCircuit {
    const Matrix<double>&inner, &outer;
    const Matrix<double>&innerGram, &outerGram;
};

/// Returns the circuit by which a later head reads. \param head outlives it
ThinCircuit readingOf(const HeadFactors& head, Mode mode);
/// Returns the circuit by which an earlier head writes.
ThinCircuit writingOf(const HeadFactors& head);

/// Returns inner · Rᵀ / ‖inner · Rᵀ‖, [d, r], with outer = Q R: the circuit without the orthonormal factor Q. NaN if a weight is not finite or
/// the circuit is zero. In float32 by unitRoot() where there is one.
/// Errors: those of decompositions but Corrupt.
template <typename Scalar>
Result<Matrix<Scalar>> sideOf(const ThinCircuit& circuit);

/// Returns inner / ‖inner‖.
Matrix<float> unitFactor(const Matrix<double>& inner);

/// Returns a root [r, r] of outerᵀ outer in the place of R, at a third of its cost, so that unitFactor(inner) · rootᵀ has norm 1. None
/// where that is so much smaller than its factors that a score in float32 would lose digits, or where a square leaves double's range.
std::optional<Matrix<float>> unitRoot(const ThinCircuit& circuit);

} // namespace headwise
