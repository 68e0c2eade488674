#pragma once

#include "core/circuits/circuits.h"

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

/// Returns the d_head singular values of one circuit, descending; missing ones (rank < d_head) are 0.
///
/// They come from Gram products in double and symmetric eigenvalues, within 1e-5·σ₁. If cancellation between the factors
/// could break that bound, or the vocabulary is smaller than the head, they come from QR of the factors.
/// \param weights of `head`; \param tokens may be null for qk and ov
/// Errors: Corrupt if a number is not finite.
Result<std::vector<double>> circuitSingularValues(const Circuits& circuits,
                                                  const HeadWeights<double>& weights, CircuitKind kind,
                                                  HeadId head, const TokenSide* tokens);

/// Returns the d_head eigenvalues of one circuit `inReadingOrder`; missing ones (rank < d_head) are 0.
/// Errors: InvalidArgument if the circuit is not square; Corrupt if a number is not finite.
Result<std::vector<std::complex<double>>> circuitEigenvalues(const Circuits& circuits,
                                                             const HeadWeights<double>& weights,
                                                             CircuitKind kind, HeadId head,
                                                             const TokenSide* tokens);

/// Returns Re Σλ / Σ|λ| in [−1, 1]; NaN if every λ is 0. This is copying for full OV, matching for full QK.
/// Source: Elhage et al. 2021, "Summarizing OV/QK matrices".
double positivity(std::span<const std::complex<double>> eigenvalues);

} // namespace headwise
