#pragma once

#include "core/base/result.h"
#include "core/checkpoint/safetensors.h"

#include <optional>
#include <span>
#include <string_view>

namespace headwise {

/// Why tensors of these names are not weights that can be used as they are, and what to do: quantised by GPTQ, AWQ,
/// bitsandbytes, compressed-tensors or FP8 with scales, a LoRA adapter, Meta's own names. Nothing for all others.
std::optional<Error> foreignWeights(std::span<const StoredTensor> tensors, std::string_view fileName);

} // namespace headwise
