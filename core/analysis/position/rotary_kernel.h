#pragma once

#include "core/model/processing.h"

#include <string>
#include <utility>
#include <vector>

namespace headwise {

// The score of one query vector with one key vector under rotary positions:
// score(Δ) = c + Σ_m a_m cos(θ_m Δ) + b_m sin(θ_m Δ), Δ = number of positions from the key to the query.
// Source: Su et al. 2021, arXiv 2104.09864.

/// Returns the two components that frequency m rotates, in either layout.
std::pair<int, int> rotaryPair(const Rotary& rotary, int m);

struct RotaryKernel {
    Eigen::VectorXd a,
        b;                     ///< [dim/2]: q_m · k_m and q_m × k_m, times `factor` and the rotary scaling
    double constant = 0;       ///< Score of the unrotated components, times `factor`.
    Eigen::VectorXd amplitude; ///< [dim/2], √(a² + b²) = |q_m| |k_m|
};

/// \param q, k [r], not rotated \param factor the scale of the scores
RotaryKernel rotaryKernel(const Rotary& rotary, const RowVector<double>& q, const RowVector<double>& k,
                          double factor);

/// Computes the kernel of two rows of the residual stream as a head reads them: through its norm and its weights.
/// \param query, key [d], before the norm
RotaryKernel rotaryKernel(const ProcessedWeights& weights, HeadId head, const RowVector<double>& query,
                          const RowVector<double>& key);

/// Returns each frequency's share of the score at an offset, [dim/2]: a_m cos θ_m Δ + b_m sin θ_m Δ.
Eigen::VectorXd frequencyTerms(const Rotary& rotary, const RotaryKernel& kernel, int offset);

/// Attribute with the names along an axis of frequencies.
inline constexpr const char* frequencyLabels = "frequency_labels";
/// Names frequencies by number and wavelength in positions per turn: "3 (118)".
/// \param frequencies radians per position
std::vector<std::string> frequencyNames(const std::vector<double>& frequencies);

/// cos θ_m Δ and sin θ_m Δ, Δ = 0 … n − 1.
class RotaryWaves {
public:
    RotaryWaves(const Rotary& rotary, Eigen::Index n);

    Eigen::VectorXd scores(const RotaryKernel& kernel) const; ///< [n]

private:
    Matrix<double> m_cosines, m_sines; // [n, dim/2]
};

/// Share of each frequency in W_Q R_Δ W_Kᵀ. Q_m and K_m are the two columns of W_Q and W_K that frequency m rotates.
struct RotaryEnergies {
    Eigen::VectorXd energy;    ///< [dim/2], ‖Q_m K_mᵀ‖_F
    Eigen::VectorXd unaligned; ///< [dim/2], ‖Q_m‖ ‖K_m‖ / √2: for orthogonal columns of equal length
    Eigen::VectorXd qCosine, kCosine; ///< [dim/2], between the two columns of Q_m and of K_m
};

/// Computes the energies. \param W_Q, W_K [d, r]
RotaryEnergies rotaryEnergies(const Rotary& rotary, const Matrix<double>& W_Q, const Matrix<double>& W_K);
/// Computes the energies of a head. Multiplies the factors of the query and key norms into their columns.
RotaryEnergies rotaryEnergies(const ProcessedWeights& weights, HeadId head);

} // namespace headwise
