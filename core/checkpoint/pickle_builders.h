#pragma once

#include "core/checkpoint/pickle.h"

#include <optional>
#include <string_view>

namespace headwise {

/// Whether a global may stand in a pickle of tensors at all.
bool isKnownGlobal(std::string_view name);

/// Applies a global to its arguments with our own builder for that name; nothing is run.
/// \param arguments   a Tuple
/// \returns   the index of the result, or nothing if the arguments are not what this global takes
std::optional<int> applyGlobal(Pickle& pickle, std::string_view name, int arguments);

} // namespace headwise
