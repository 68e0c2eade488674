#pragma once

#include "core/base/result.h"
#include "core/base/task.h"
#include "core/model/weights.h"

#include <optional>
#include <string>

namespace headwise {

/// A sentence that names the first tensor of the model with NaN or infinity in it and says how many more have such
/// numbers; nothing if all are finite. Masks and other buffers, which may be infinite, do not count as weights.
///
/// Errors: Cancelled.
/// Cost: reads every weight, so it is for commands that read them anyway.
Result<std::optional<std::string>> nonFiniteWarning(const ModelWeights& weights, const Task& task);

} // namespace headwise
