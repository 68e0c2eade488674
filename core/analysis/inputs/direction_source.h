#pragma once

#include "core/circuits/circuits.h"
#include "core/tokenizer/tokenizer.h"

#include <string>
#include <string_view>
#include <vector>

namespace headwise {

/// Returns whether `text` names a file, a neuron or a singular vector instead of a token.
bool namesNoToken(std::string_view text);

/// Returns the direction of the residual stream that `text` names, [d], in the weights in use:
///   FILE.npy           a NumPy vector
///   TOKEN, #ID         its row of W_E; unembed:TOKEN its column of W_U; A -- B the difference of two of these
///   neuron:L.N:out     row N of W_out of layer L, the output of the neuron; neuron:L.N:in its column of W_in, the input
///   singular:L.H:ov:out:K   the K-th right singular vector of W_V W_O, from 1; in: the left one; qk:in and qk:out those of
///                      W_Q W_Kᵀ, queries and keys. The largest entry by magnitude is positive, or negative after a minus sign.
/// \param tokenizer null: tokens are named only by #ID
/// Errors: InvalidArgument (text of another form; no such head, layer, neuron or vector; a file of another length than d);
/// NotFound (a token, a file); those of readNpyVector; Corrupt if a weight is not finite.
Result<std::vector<double>> readDirection(const std::string& text, const Circuits& circuits,
                                          const Tokenizer* tokenizer);

/// A singular vector named "singular:1.5:ov:out:1". readDirection() reads the name back with the sign of `vector`.
struct SingularName {
    CircuitKind circuit = CircuitKind::Ov; ///< Ov or Qk
    HeadId head;
    bool isOut = false; ///< Whether it is the right singular vector.
    int index = 0;      ///< k, from 0
};
std::string singularName(const SingularName& of, const RowVector<double>& vector);

} // namespace headwise
