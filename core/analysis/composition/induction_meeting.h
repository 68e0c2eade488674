#pragma once

#include "core/base/result.h"
#include "core/circuits/circuits.h"

namespace headwise {

// What an earlier and a later head are to each other, for Scalar = float or double. Both of a pair's numbers stay the same
// when a weight is multiplied by a positive number, so every weight is first divided by its Frobenius norm: no product
// overflows in float32, whatever the scale of the model.

/// m / ‖m‖_F; m itself if that is zero or not finite.
Matrix<double> atUnitNorm(const Matrix<double>& m);

/// The later head's side of a pair, and the token vectors both are asked about.
template <typename Scalar>
struct Reader {
    Matrix<Scalar> Q, K;  // [d, r]
    Matrix<Scalar> SQ;    // Eᵀ E W_Q, [d, r]
    Matrix<Scalar> coreQ; // R of W_Q = orthonormal · R, [min(d, r), r]
    double norm = 0;      // ‖W_QK‖_F
};

template <typename Scalar>
struct Writer {
    Matrix<Scalar> V;     // [d, r]
    Matrix<Scalar> O;     // [r, d]
    Matrix<Scalar> coreV; // R of W_V
    double norm = 0;      // ‖W_OV‖_F
};

/// Errors: Corrupt. \param gram Eᵀ E, [d, d]
template <typename Scalar>
Result<Reader<Scalar>> readerOf(const HeadWeights<double>& head, const Matrix<double>& gram);
/// Errors: Corrupt.
template <typename Scalar>
Result<Writer<Scalar>> writerOf(const HeadWeights<double>& head);

struct PairNumbers {
    double composition; ///< ‖W_OV W_QKᵀ‖_F / (‖W_OV‖_F ‖W_QK‖_F)
    double matching;    ///< Re Σλ / Σ|λ| of E W_QK W_OVᵀ Eᵀ; NaN where it has no eigenvalues
};

/// Errors: Internal. \param E [V, d]
/// Cost: 4 d r² flops and the eigenvalues of one [r, r] matrix.
template <typename Scalar>
Result<PairNumbers> meet(const Writer<Scalar>& writer, const Reader<Scalar>& reader, const Matrix<float>& E);

} // namespace headwise
