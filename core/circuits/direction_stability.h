#pragma once

#include "core/circuits/singular_directions.h"

#include <vector>

namespace headwise {

/// How precisely the stored weights determine each singular direction of a circuit, given the file's number format.
struct DirectionStability {
    double perturbation =
        0; ///< ‖δM‖₂, an estimate of how far rounding moved the circuit; no σ moved further (Weyl 1912).
    std::vector<double> gap; ///< [rank] min((σ_{k−1} − σ_k)/σ_{k−1}, (σ_k − σ_{k+1})/σ_k)
    std::vector<double>
        error; ///< [rank] min(1, ‖δM‖₂ / distance of σ_k from the others), a sine (Wedin 1972)
    std::vector<double> blockError; ///< [rank] The same for the span of its block.
};

DirectionStability directionStability(const Circuits& circuits, CircuitKind kind, HeadId head,
                                      const SingularDirections& svd);

} // namespace headwise
