#pragma once

#include "core/circuits/circuits.h"

#include <memory>
#include <string_view>

namespace headwise {

/// Whether the MLP of this layer reads other vectors than E: MLP 0, whose own output is in the E of effective and mlp0.
bool readsBeforeMlp0(Embedding embedding, int layer);
/// Clause about MLP 0 to add to a definition of what MLPs read: "; MLP 0, … reads W_E". Empty where MLP 0 reads E.
std::string_view mlp0Reads(Embedding embedding, const ModelConfig& config);

/// Memory of what `tokensOfMlp` makes for MLP 0, in bytes.
double mlp0TokensBytes(const ModelConfig& config, Embedding embedding, Precision precision);

/// The token vectors that the MLP of one layer reads: `tokens` itself, but for MLP 0 where E holds that MLP's output. There W_E, with
/// effective after layer 0's attention locked to self (not in parallel blocks, where both read the same), and these stand in
/// E, E64 and EtE as `tokens` has them; the rest is empty.
/// \param tokens of the weights of `circuits`, not of another basis
/// Errors: Cancelled, OutOfMemory. Cost: for MLP 0 2 V d² flops with effective, and half as many for the Gram product.
Result<std::shared_ptr<const TokenSide>> tokensOfMlp(const Circuits& circuits,
                                                     std::shared_ptr<const TokenSide> tokens, int layer,
                                                     const Task& task,
                                                     TokenParts parts = TokenParts::MatricesAlone);

} // namespace headwise
