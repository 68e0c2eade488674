#pragma once

#include "core/base/task.h"

namespace headwise::app {

/// Prints what limits the speed of analyses on this machine: processor, kernels, measured rates, libraries and memory.
Result<int> infoSystem(bool asJson, const Task& task);

} // namespace headwise::app
