#pragma once

#include "core/analysis/shared/norm_divisors.h"

namespace headwise {

/// Terms of the scores of one query position that depend only on positions: each [n], by key.
struct QueryTerms {
    RowVector<double> pp;           ///< T^pp at the mean over tokens of σ_i
    RowVector<double> ppLow;        ///< 1.96 deviations of 1/σ_j over tokens below it
    RowVector<double> ppHigh;       ///< 1.96 deviations of 1/σ_j over tokens above it
    RowVector<double> ppAtMinSigma; ///< T^pp at the smallest σ_i
    RowVector<double> ppAtMaxSigma; ///< T^pp at the largest σ_i
    RowVector<double> pattern;      ///< softmax over j ≤ i of (T^pp + T^p) · scale; 0 for later keys
};

/// Terms of the scores of one token at the query position, so that σ_i is known: each [n], by key.
struct QueryTokenTerms {
    double sigma = 0;
    RowVector<double> pp;
    RowVector<double> ep;      ///< T^ep, the token's preference among positions
    RowVector<double> pattern; ///< softmax over j ≤ i of (T^pp + T^ep + T^p) · scale
};

/// The terms of a layer-0 score that do not depend on the key token. 1/σ_j is averaged over the vocabulary.
/// Source: Kamoda et al. 2025, arXiv 2501.15754, figure 3.
class PositionTerms {
public:
    /// \param positions `seenPositions` from 0 on, [n, d] \param spread of the same weights
    /// Cost: 4 n d r flops.
    PositionTerms(const ProcessedWeights& weights, HeadId head, const Matrix<double>& positions,
                  const DivisorSpread& spread);

    // T^p, [n]: mean over tokens, 1.96 deviations around it, and values at the smallest and largest σ_j.
    RowVector<double> p, pLow, pHigh, pAtMinSigma, pAtMaxSigma;

    Eigen::Index size() const { return p.size(); } ///< n
    /// \param query 0 … n − 1. Cost: 2 n r flops.
    QueryTerms at(Eigen::Index query) const;
    /// \param token inside the vocabulary. Cost: 2 n r + 2 d r flops.
    QueryTokenTerms at(Eigen::Index query, int token) const;

private:
    RowVector<double> attention(const RowVector<double>& scores, Eigen::Index query) const;

    ProcessedWeights m_weights;
    Matrix<double> m_queryWeights;        // [d, r]
    Matrix<double> m_queries, m_keys;     // [n, r], p W_Q and p W_K · mean of 1/σ
    RowVector<double> m_relativeWidth;    // [n], 1.96 deviations of 1/σ over its mean
    Eigen::VectorXd m_mean, m_min, m_max; // [n], of σ
    double m_scale;
};

} // namespace headwise
