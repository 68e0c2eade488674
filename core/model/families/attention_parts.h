#pragma once

#include "core/model/processing.h"

#include <vector>

namespace headwise {

// Queries, keys and what positions do to them, for the forward pass and the scores by position.

/// A rotary embedding with its angles.
class Rotation {
public:
    explicit Rotation(const Rotary& rotary);

    /// Turns row p by the angles of position p. \param heads [n, r]
    template <typename Scalar>
    void apply(Matrix<Scalar>& heads) const;

    /// rot(q, offset) with the factors of both sides: its product with an unturned key is the score at that offset.
    RowVector<double> turned(const RowVector<double>& q, double offset) const;

private:
    template <typename Row>
    void turn(Row&& row, double position, double length) const;

    Rotary m_rotary;
    std::vector<double> m_frequencies; // [dim/2]
};

/// Part of the scores that depends on head and distance alone, added after their factor and soft cap: ALiBi's slopes, or
/// a learned bias (T5).
class DistanceBias {
public:
    /// \param n positions: distances up to n − 1
    DistanceBias(const ProcessedWeights& weights, Eigen::Index n);

    /// Returns 0 in a model without one. \param offset query − key, 1 − n … n − 1
    double of(int head, Eigen::Index offset) const;
    /// \param scores [n, n], row = query
    template <typename Scalar>
    void addTo(int head, Matrix<Scalar>& scores) const;

private:
    Eigen::Index m_zero = 0; // the column of offset 0
    Matrix<double> m_terms;  // [heads, 2n − 1], or empty
};

template <typename Scalar>
struct QueriesAndKeys {
    Matrix<Scalar> q, k; // [n, r]
};

/// 1/√(mean of squares + eps) of the queries and of the keys of all heads of a layer side by side, or of their latents.
struct SharedQkScale {
    Eigen::VectorXd q, k;     // [n]
    Eigen::Index keyFrom = 0; ///< Components of keys before this one are not scaled.
};

/// Empty unless the model normalises over all heads or latents. \param x [n, d], what the layer's attention reads
template <typename Scalar>
SharedQkScale sharedQkScale(const ProcessedWeights& weights, int layer, const Matrix<Scalar>& x);

/// 1/√(mean of squares + eps) of the latent that values come from, [n]; empty without one. \param x as of sharedQkScale
template <typename Scalar>
Eigen::VectorXd valueScale(const ProcessedWeights& weights, int layer, const Matrix<Scalar>& x);

/// Cuts every entry off at ± bound; 0: not.
template <typename Scalar>
void limit(double bound, Matrix<Scalar>& x);

/// With biases and, where the model has them, cut off at ± bound and normalised; not yet rotated. \param x [n, d]
template <typename Scalar>
QueriesAndKeys<Scalar> queriesAndKeys(const HeadWeights<Scalar>& head, const SharedQkScale& shared,
                                      double bound, const Matrix<Scalar>& x);

/// With the bias, scaled by `valueScale` and cut off at ± bound. \param x [n, d]
template <typename Scalar>
Matrix<Scalar> values(const HeadWeights<Scalar>& head, const Eigen::VectorXd& scale, double bound,
                      const Matrix<Scalar>& x);

} // namespace headwise
