#pragma once

#include "core/base/result.h"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace headwise {

/// Limits and extensions for the JSON texts that we read.
struct JsonRules {
    int maxDepth = 128; ///< Nesting of objects and arrays.
    /// Accept bare NaN, Infinity and -Infinity as numbers, as Python writes them into config.json.
    bool allowNonFinite = false;
};

/// Parses one JSON value with nothing but white space around it, more strictly than most parsers.
///
/// A name that occurs twice in an object is refused: parsers differ in which one counts, so a file could mean one thing
/// to us and another to its author. Integers up to 2⁶⁴ − 1 stay integers; is_number_unsigned(), is_number_integer() and
/// is_number_float() tell `2`, `-2` and `2.0` apart. A byte order mark is skipped.
/// \param fileName   named in the message
/// Errors: Corrupt with line and column (bad UTF-8, bad syntax, a name twice, too deep).
Result<nlohmann::json> parseJson(std::string_view text, std::string_view fileName,
                                 const JsonRules& rules = {});

/// Value of a text that this program wrote, or that was parsed before; is_discarded() if it is no JSON after all.
nlohmann::json jsonValue(std::string_view text);

/// JSON text of a value: on one line, or, from `indent` 0 on, a line for each member. Bytes that are no UTF-8 become U+FFFD.
std::string jsonText(const nlohmann::json& value, int indent = -1);
std::string jsonText(const nlohmann::ordered_json& value, int indent = -1);

/// Reads a whole file.
///
/// Errors: NotFound; Unsupported if it is not a regular file or is longer than `maxBytes`; Io.
Result<std::string> readTextFile(const std::filesystem::path& path, std::size_t maxBytes = 256u << 20);

} // namespace headwise
