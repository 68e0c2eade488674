#pragma once

#include "core/circuits/circuits.h"

#include <complex>
#include <span>
#include <vector>

namespace headwise {

/// How a spectrum is spread. σ = the singular values, p = σ/Σσ. NaN for a zero circuit but its norm, 0.
/// Source: ANALYSES E2, E3; effective rank: Roy & Vetterli, EUSIPCO 2007.
struct RankMeasures {
    double frobeniusNorm = 0;      ///< √Σσ²
    double effectiveRank = 0;      ///< exp(−Σ p ln p)
    double stableRank = 0;         ///< Σσ²/σ₁²
    double participationRatio = 0; ///< (Σσ²)²/Σσ⁴
    double k90 = 0;                ///< How many of the largest carry 90 % of Σσ².
};

/// \param sigma descending, not negative
RankMeasures rankMeasures(std::span<const double> sigma);

/// Singular values of one circuit, descending, d_head of them: those that the sizes leave out are 0.
///
/// From Gram products in double and symmetric eigenvalues, within 1e-5·σ₁; where cancellation between the factors could
/// break that bound, or the vocabulary is smaller than the head, from QR of the factors.
/// \param weights of `head`; \param tokens may be null for qk and ov
/// Errors: Corrupt if a number is not finite.
Result<std::vector<double>> circuitSingularValues(const Circuits& circuits,
                                                  const HeadWeights<double>& weights, CircuitKind kind,
                                                  HeadId head, const TokenSide* tokens);

/// Eigenvalues of one circuit `inReadingOrder`, d_head of them: those that the sizes leave out are 0.
/// Errors: InvalidArgument where the circuit is not square; Corrupt if a number is not finite.
Result<std::vector<std::complex<double>>> circuitEigenvalues(const Circuits& circuits,
                                                             const HeadWeights<double>& weights,
                                                             CircuitKind kind, HeadId head,
                                                             const TokenSide* tokens);

/// Re Σλ / Σ|λ| in [−1, 1]; NaN if every λ is 0. Copying over full OV, matching over full QK.
/// Source: Elhage et al. 2021, "Summarizing OV/QK matrices".
double positivity(std::span<const std::complex<double>> eigenvalues);

} // namespace headwise
