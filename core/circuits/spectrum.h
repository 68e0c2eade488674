#pragma once

#include <complex>
#include <span>
#include <vector>

namespace headwise {

/// Measures of how a spectrum is spread. σ = the singular values, p = σ/Σσ. For a zero circuit all are NaN except the
/// norm, 0.
/// Source: effective rank: Roy & Vetterli, EUSIPCO 2007; the others: CONTRACTS.md §6.
struct RankMeasures {
    double frobeniusNorm = 0;      ///< √Σσ²
    double effectiveRank = 0;      ///< exp(−Σ p ln p)
    double stableRank = 0;         ///< Σσ²/σ₁²
    double participationRatio = 0; ///< (Σσ²)²/Σσ⁴
    double k90 = 0;                ///< Number of largest components that carry 90 % of Σσ².
};

/// \param sigma descending, not negative
RankMeasures rankMeasures(std::span<const double> sigma);

/// Returns Re Σλ / Σ|λ| in [−1, 1]; NaN if every λ is 0. This is copying for full OV, matching for full QK.
/// Source: Elhage et al. 2021, "Summarizing OV/QK matrices".
double positivity(std::span<const std::complex<double>> eigenvalues);

} // namespace headwise
