#pragma once

#include "core/base/decompositions.h"
#include "core/circuits/circuits.h"

namespace headwise {

// One head in an older and in a newer model. All numbers come from the QR decompositions of its factors, each computed once.

/// W_Q, W_K, W_V or W_Oᵀ of a head. The columns span the subspace that the head reads or writes.
struct Factor {
    Matrix<double> W; ///< [d, r]
    ThinQr qr;        ///< W = Q R, k = min(d, r)
};

/// The same factor of both models.
struct FactorPair {
    Factor before, after;
    Matrix<double> overlap; ///< [k, k], Q_Bᵀ Q_A
    bool isSame = false;
};

/// The factors of W_QK or W_OV, left · rightᵀ, of both models.
struct CircuitPair {
    FactorPair left, right;

    bool isSame() const { return left.isSame && right.isSame; }
};

/// Decomposes a circuit in both models. \param kind Qk or Ov; its matrices are moved out of the heads
/// Errors: Corrupt if a weight is not finite.
Result<CircuitPair> circuitPair(CircuitKind kind, HeadWeights<double>& older, HeadWeights<double>& newer);

/// Returns ‖B − A‖_F, exactly 0 for equal factors.
double changeNorm(const CircuitPair& circuit);

/// Returns ⟨A, B⟩_F.
double innerProduct(const CircuitPair& circuit);

/// Returns ‖U_Aᵀ U_B‖_F² over the larger rank, U orthonormal bases of the column spaces.
/// This is the mean squared cosine of the principal angles. It is exactly 1 for equal factors, NaN if both are zero.
Result<double> projectionKernel(const FactorPair& pair);

/// left · rightᵀ = (Q_l U) diag(S) (Q_r V)ᵀ of one model.
struct Directions {
    ThinSvd core;          ///< U diag(S) Vᵀ = R_l R_rᵀ
    Eigen::Index rank = 0; ///< As SingularDirections::rank.
};

Result<Directions> directionsOf(const Factor& left, const Factor& right);

} // namespace headwise
