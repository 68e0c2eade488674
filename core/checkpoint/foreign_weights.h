#pragma once

#include "core/base/result.h"
#include "core/checkpoint/safetensors.h"

#include <optional>
#include <span>
#include <string_view>

namespace headwise {

/// Recognises by their names tensors that are not usable weights, and says what to do: parts of quantised matrices that
/// joinPackedParts() left, LoRA adapters. Returns nothing for all others.
std::optional<Error> foreignWeights(std::span<const StoredTensor> tensors, std::string_view fileName);

} // namespace headwise
