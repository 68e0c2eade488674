#pragma once

#include "core/circuits/circuits.h"

#include <memory>
#include <string_view>

namespace headwise {

/// Tells whether the MLP of this layer reads vectors other than E. MLP 0 does if E (effective, mlp0) contains its output.
bool readsBeforeMlp0(Embedding embedding, int layer);
/// Returns the clause "; MLP 0, … reads W_E" for the definition of an MLP array; empty if MLP 0 reads E.
std::string_view mlp0Reads(Embedding embedding, const ModelConfig& config);

/// Memory that `tokensOfMlp` allocates for MLP 0, in bytes.
double mlp0TokensBytes(const ModelConfig& config, Embedding embedding, Precision precision);

/// Returns the token vectors that the MLP of one layer reads. They are `tokens` itself, except for MLP 0 if E contains
/// that MLP's output. MLP 0 then reads W_E, with effective after layer 0's attention locked to self (but not in parallel
/// blocks, where both read the same). The result has E, exact if that of `tokens` is, and EtE with WithGrams; the rest is empty.
/// \param tokens of the weights of `circuits`, not of another basis
/// Errors: Cancelled, OutOfMemory. Cost: for MLP 0 2 V d² flops with effective, and half as many for the Gram product.
Result<std::shared_ptr<const TokenSide>> tokensOfMlp(const Circuits& circuits,
                                                     std::shared_ptr<const TokenSide> tokens, int layer,
                                                     const Task& task,
                                                     TokenParts parts = TokenParts::MatricesAlone);

} // namespace headwise
