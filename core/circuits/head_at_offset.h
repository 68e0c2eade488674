#pragma once

#include "core/circuits/circuit_terms.h"

#include <optional>

namespace headwise {

/// Why `of` has no circuit in this model: the head is not there, or positions are not rotary and an offset is asked for, or it is
/// past the context. None where it has one.
std::optional<Error> wrongCircuit(const Circuits& circuits, const CircuitOfHead& of);

/// The weights of a head with W_Q R(Δ) and b_Q R(Δ) in place of W_Q and b_Q, so that whatever is made of them is at offset Δ; as
/// they are at 0 and of OV. R turns and does not lengthen: a factor that a scaled rotary embedding has is part of the scale.
/// \param of one that `wrongCircuit` passes
template <typename Scalar>
HeadWeights<Scalar> headAtOffset(const Circuits& circuits, const CircuitOfHead& of);

/// The circuit with its offset, and without biases and scale. \param tokens may be null for qk and ov
/// Errors: InvalidArgument as `wrongCircuit`.
Result<FactoredMatrix<double>> circuitAtOffset(const Circuits& circuits, const CircuitOfHead& of,
                                               const TokenSide* tokens);

} // namespace headwise
