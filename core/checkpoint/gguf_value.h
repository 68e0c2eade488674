#pragma once

#include "core/checkpoint/gguf.h"

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>

namespace headwise {

/// Returns a number, or the single value that all entries of a per-layer array share.
std::optional<nlohmann::json> ggufNumber(const GgufValue& value);

/// Returns a value as JSON writes it, for sentences.
std::string ggufShown(const GgufValue& value);

} // namespace headwise
