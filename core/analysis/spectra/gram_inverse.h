#pragma once

#include "core/base/matrix.h"
#include "core/base/result.h"

namespace headwise {

/// Returns G⁺ of G = Eᵀ E, [d, d] or empty. Since (Eᵀ)⁺ = E G⁺, E times G⁺ times a column applies the pseudoinverse to it.
/// Skips directions whose σ in E is below 1e-5 of the largest. Errors: Corrupt if G is not finite.
Result<Matrix<double>> gramInverse(const Matrix<double>& gram);

} // namespace headwise
