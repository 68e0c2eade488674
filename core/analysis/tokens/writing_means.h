#pragma once

#include "core/base/task.h"
#include "core/model/processing.h"

#include <string>
#include <vector>

namespace headwise {

/// The largest |mean over d_model| of each weight that writes to the residual stream, and of W_U over the vocabulary.
struct WritingMeans {
    std::vector<std::string> labels; ///< "layer 0: W_O, over d_model"
    std::vector<double> before, after;
};

/// Measures the means that centring removes from W_E, W_pos, every layer's W_O and W_U.
/// \param before the weights as in the file \param after the weights in use
/// Errors: Cancelled.
Result<WritingMeans> writingMeans(const ProcessedWeights& before, const ProcessedWeights& after,
                                  const Task& task);

} // namespace headwise
