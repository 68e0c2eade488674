#pragma once

#include "core/analysis/shared/random_heads.h"

#include <functional>
#include <vector>

namespace headwise {

/// Returns the previous-token scores of random heads by layer, over the model's position vectors.
/// The `randomHeads` heads have no biases. Their W_Q and W_K have Gaussian entries with the model's mean square.
///
/// They have the sinks of the layer's heads in turn, if there are any.
///
/// Layers with the same window, scale and rotary embedding share one null, unless there are sinks.
/// If norms are not folded, that null uses the norm of the first such layer.
/// \param scoreOf called from any thread, with the head whose place the weights take
/// \param isLayer0Alone whether layer 0 reads different vectors from the other layers
/// Errors: Cancelled.
Result<std::vector<HeadNull>>
previousTokenNulls(const AnalysisContext& context, const EntrySquares& squares, bool isLayer0Alone,
                   const std::function<double(HeadId, const HeadWeights<double>&)>& scoreOf,
                   const Task& task);

/// Writes the nulls into null_mean and null_deviation if all layers share one null, else into separate arrays.
void putPreviousTokenNulls(Results& results, ResultArray& scores, const std::vector<HeadNull>& nulls);
/// Specs of those separate arrays.
std::vector<ArraySpec> previousTokenNullArrays();

} // namespace headwise
