#pragma once

#include "core/checkpoint/pickle.h"

#include <optional>
#include <string_view>

namespace headwise {

/// Tells whether a global is allowed in a pickle of tensors.
bool isKnownGlobal(std::string_view name);

/// Applies a global to its arguments with our own builder for that name; no code of the file runs.
/// \param arguments   a Tuple
/// \returns   the index of the result, or nothing if the arguments do not suit this global
std::optional<int> applyGlobal(Pickle& pickle, std::string_view name, int arguments);

} // namespace headwise
