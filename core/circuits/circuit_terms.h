#pragma once

#include "core/circuits/circuits.h"

namespace headwise {

/// Terms that a view may add to the bare product of a circuit; all off by default (CONTRACTS.md §5).
struct CircuitTerms {
    bool biases = false; ///< x W + b in place of x W on both sides: the d_model+1 form, [W; b].
    bool scale = false;  ///< Multiplies QK and full QK by the attention's scale.
    /// Δ = query position − key position ≥ 0, for QK and full QK with rotary positions: W_Q R(Δ) W_Kᵀ, q R(Δ) = rot(q,
    /// Δ).
    int offset = 0;

    bool operator==(const CircuitTerms&) const = default;
};

/// A circuit of a head, with its terms.
struct CircuitOfHead {
    CircuitKind kind = CircuitKind::FullOv;
    HeadId head;
    CircuitTerms terms = {};
};

} // namespace headwise
