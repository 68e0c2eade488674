#pragma once

#include "core/base/result.h"

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <string>

namespace headwise {

/// Reads a config.json as Python writes it, with NaN and Infinity.
/// Errors: those of readTextFile(); Corrupt for everything that is no JSON object, with what it is instead.
Result<nlohmann::json> readConfigFile(const std::filesystem::path& file);

/// Returns the value of a --set. Text that is no JSON is a string: act_fn=relu needs no quotes.
nlohmann::json overrideValue(const std::string& text);

} // namespace headwise
