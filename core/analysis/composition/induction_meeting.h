#pragma once

#include "core/base/result.h"
#include "core/circuits/circuits.h"

namespace headwise {

// Composition, matching and same-token score of an earlier and a later head, for Scalar = float or double.
// The numbers of a pair stay the same when a weight is multiplied by a positive number.
// Every weight is therefore divided by its Frobenius norm, so no product overflows in float32 at any model scale.

/// Returns m / ‖m‖_F, or m itself if its norm is zero or not finite.
Matrix<double> atUnitNorm(const Matrix<double>& m);

/// The later head's side of a pair, with the token vectors that both heads are tested on.
template <typename Scalar>
struct Reader {
    Matrix<Scalar> Q, K;  // [d, r]
    Matrix<Scalar> SQ;    // Eᵀ E W_Q, [d, r]
    Matrix<Scalar> coreQ; // R of W_Q = orthonormal · R, [min(d, r), r]
    double norm = 0;      // ‖W_QK‖_F
    Matrix<double> QSQ;   // W_Qᵀ SQ, [r, r]
    double share = 0;     // ‖Eᵀ E W_Q‖_F / ‖Eᵀ E‖_F before SQ was divided by its norm
};

template <typename Scalar>
struct Writer {
    Matrix<Scalar> V;     // [d, r]
    Matrix<Scalar> O;     // [r, d]
    Matrix<Scalar> coreV; // R of W_V
    double norm = 0;      // ‖W_OV‖_F
    Matrix<double> VSV;   // W_Vᵀ Eᵀ E W_V / ‖Eᵀ E‖_F, [r, r]
};

/// Errors: Corrupt. \param gram Eᵀ E, [d, d]
template <typename Scalar>
Result<Reader<Scalar>> readerOf(const HeadWeights<double>& head, const Matrix<double>& gram);
/// Errors: Corrupt. \param gram Eᵀ E of the later head, [d, d]
template <typename Scalar>
Result<Writer<Scalar>> writerOf(const HeadWeights<double>& head, const Matrix<double>& gram);

struct PairNumbers {
    double composition; ///< ‖W_OV W_QKᵀ‖_F / (‖W_OV‖_F ‖W_QK‖_F)
    double matching;    ///< Re Σλ / Σ|λ| of E W_QK W_OVᵀ Eᵀ; NaN where it has no eigenvalues
    double sameToken; ///< tr M |tr M| / (n ‖M‖²_F), M = E W_QK W_OVᵀ Eᵀ, n its largest rank; NaN for a zero M
};

/// Errors: Internal. \param E [V, d]
/// Cost: 4 d r² flops and the eigenvalues of one [r, r] matrix.
template <typename Scalar>
Result<PairNumbers> meet(const Writer<Scalar>& writer, const Reader<Scalar>& reader, const TokenMatrix& E);

} // namespace headwise
