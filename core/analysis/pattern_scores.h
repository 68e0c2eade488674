#pragma once

#include "core/base/matrix.h"

namespace headwise {

/// Attention scores of a head on [BOS] t₁ … t_N t₁ … t_N. Each is the mean over the queries q of the second copy.
struct PatternScores {
    double induction = 0; ///< α[q, q−N+1]: the token after the earlier copy of the query.
    double duplicate = 0; ///< α[q, q−N]: the earlier copy itself.
    double previous = 0;  ///< α[q, q−1]
    double first = 0;     ///< α[q, 0]
    double current = 0;   ///< α[q, q]
    double entropy = 0;   ///< −Σ_j α[q, j] ln α[q, j], nats
    double distance = 0;  ///< Σ_j α[q, j] |q − j|, tokens

    bool operator==(const PatternScores&) const = default;
};

/// \param pattern    [n, n], row = query, column = key; the last 2 N positions are the two copies
/// \param copyLength N, 1 ≤ N ≤ n/2
/// Source: Olsson et al. 2022, arXiv 2209.11895; entropy and distance as in HeadVis.
template <typename Scalar>
PatternScores patternScores(const Matrix<Scalar>& pattern, int copyLength);

enum class Sight { Causal, Everything };

/// Returns the pattern of uniform attention over all visible keys: the baseline of the scores.
/// \param window only keys j with q − j < window are visible; 0: all
Matrix<double> uniformPattern(int n, int window, Sight sight);

/// Returns PatternScores::distance of a causal pattern whose scores are −slope · (q − j) alone: its baseline with ALiBi.
double slopeDistance(double slope, int n, int copyLength, int window);

} // namespace headwise
