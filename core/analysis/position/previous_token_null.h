#pragma once

#include "core/analysis/shared/random_heads.h"

#include <functional>
#include <vector>

namespace headwise {

/// What heads of random weights get as previous-token score, by layer: `randomHeads` heads without biases whose W_Q and W_K
/// have Gaussian entries of the model's mean square, over the same position vectors.
///
/// Layers with one window, scale and rotary embedding share their random heads' score; where norms are not folded it is
/// that of the first such layer's norm.
/// \param scoreOf from any thread
/// \param isLayer0Alone whether layer 0 reads other vectors than the rest
/// Errors: Cancelled.
Result<std::vector<HeadNull>>
previousTokenNulls(const AnalysisContext& context, const EntrySquares& squares, bool isLayer0Alone,
                   const std::function<double(int layer, const HeadWeights<double>&)>& scoreOf,
                   const Task& task);

/// Into null_mean and null_deviation of the scores where all layers have one null, else as arrays beside them.
void addPreviousTokenNulls(ResultSet& results, ResultArray& scores, const std::vector<HeadNull>& nulls,
                           Precision precision);

} // namespace headwise
