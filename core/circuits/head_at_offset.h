#pragma once

#include "core/circuits/circuit_terms.h"

#include <optional>

namespace headwise {

/// Explains why `of` does not exist in this model: no such head, an offset without rotary positions, or an offset past
/// the context. Returns nothing if it exists.
std::optional<Error> wrongCircuit(const Circuits& circuits, const CircuitOfHead& of);

/// Returns a head's weights with W_Q R(Δ) and b_Q R(Δ) in place of W_Q and b_Q, so that everything computed from them is
/// at offset Δ. Unchanged for Δ = 0 and for OV. R only rotates: the factor of a scaled rotary embedding is part of the
/// scale.
/// \param of must pass `wrongCircuit`
template <typename Scalar>
HeadWeights<Scalar> headAtOffset(const Circuits& circuits, const CircuitOfHead& of);

/// Returns the circuit at its offset, without biases and scale. \param tokens may be null for qk and ov
/// Errors: InvalidArgument as `wrongCircuit`.
Result<FactoredMatrix<double>> circuitAtOffset(const Circuits& circuits, const CircuitOfHead& of,
                                               const TokenSide* tokens);

} // namespace headwise
