#pragma once

#include "core/circuits/circuits.h"

namespace headwise {

/// What a view may add to the bare product of a circuit; off at start (DESIGN §2).
struct CircuitTerms {
    bool biases = false; ///< x W + b in place of x W on both sides: the d_model+1 form, [W; b].
    bool scale = false;  ///< Scores of QK and full QK times the attention's scale.
    /// Δ = query position − key position ≥ 0 of QK and full QK with rotary positions: W_Q R(Δ) W_Kᵀ, q R(Δ) = rot(q, Δ).
    int offset = 0;

    bool operator==(const CircuitTerms&) const = default;
};

/// Which circuit of which head is looked at, and with what terms.
struct CircuitOfHead {
    CircuitKind kind = CircuitKind::FullOv;
    HeadId head;
    CircuitTerms terms = {};
};

} // namespace headwise
