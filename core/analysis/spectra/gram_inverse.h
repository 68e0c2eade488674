#pragma once

#include "core/base/matrix.h"
#include "core/base/result.h"

namespace headwise {

/// G⁺ of G = Eᵀ E, [d, d] or empty: (Eᵀ)⁺ = E G⁺, so that columns times G⁺ are read in E as their pseudoinverse. Directions whose σ in E is below
/// 1e-5 of the largest are left out. Errors: Corrupt if G is not finite.
Result<Matrix<double>> gramInverse(const Matrix<double>& gram);

} // namespace headwise
