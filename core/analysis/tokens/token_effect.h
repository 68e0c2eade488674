#pragma once

#include "core/base/task.h"
#include "core/circuits/circuits.h"

namespace headwise {

/// Returns how strongly attention to a token changes the logits: ‖e W_V W_O W_U‖₂, e its row of E, [n_layers, n_heads].
/// NaN for a head whose weights are not finite. The analysis "token_card" calls the same number row_norm.
/// Errors: InvalidArgument for a token outside the vocabulary; Cancelled.
/// Cost: 2 d² flops per head with the Gram products of `tokens`, 2 d V without them.
/// Source: Elhage et al. 2021, "Summarizing OV/QK matrices".
Result<Matrix<double>> tokenEffect(const Circuits& circuits, const TokenSide& tokens, int token,
                                   const Task& task);

} // namespace headwise
