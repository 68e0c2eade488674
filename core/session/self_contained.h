#pragma once

#include "core/circuits/circuits.h"
#include "core/results/result_set.h"

namespace headwise {

/// Returns the arrays that let a session answer questions about tokens and circuits without the model's files (analyze
/// --self-contained): factors/{qk,ov}/{a,b} of every head, embedding (W_E) and unembedding (W_U) of the weights in use.
/// Errors: Cancelled.
Result<ResultSet> selfContained(const Circuits& circuits, Precision precision, const Task& task);

} // namespace headwise
