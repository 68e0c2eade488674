#pragma once

#include "core/base/task.h"
#include "core/circuits/circuits.h"

namespace headwise {

/// What it does to the logits to attend to a token, for every head: ‖e W_V W_O W_U‖₂, e its row of E, [n_layers, n_heads]; NaN for
/// a head whose weights are not finite. The number that "token_card" calls row_norm, without the card's lists.
/// Errors: InvalidArgument for a token outside the vocabulary; Cancelled.
/// Cost: a head 2 d² flops with the Gram products of `tokens`, without them 2 d V.
/// Source: Elhage et al. 2021, "Summarizing OV/QK matrices".
Result<Matrix<double>> tokenEffect(const Circuits& circuits, const TokenSide& tokens, int token,
                                   const Task& task);

} // namespace headwise
