#pragma once

#include "core/base/result.h"

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace headwise::app {

/// The exit code of a failure: 2 InvalidArgument; 3 NotFound, Corrupt, Unsupported; 4 Io, OutOfMemory, Internal; 130.
int exitCode(ErrorCode code);

/// Prints one line on stderr, whatever the sentence contains: line ends and control characters are shown as \xNN.
void printError(std::string_view sentence);
void printWarnings(const std::vector<std::string>& sentences);

/// Opens the log file of the state folder and sets its level; a log that cannot be written is an error only where a level
/// was asked for.
/// \param level empty: the usual one
Result<Done> startLog(const std::string& level);

/// Before minutes of work: whether a session can be written there.
/// Errors: Io (no folder to write into, a folder itself, no permission).
Result<Done> checkSessionPath(const std::filesystem::path& path);

/// Prints a value on stdout, indented, keys in the order they were added; NaN and infinities become null.
void printJson(const nlohmann::ordered_json& value);

/// The shortest decimal that reads back as the same number; "nan", "inf" and "-inf" for what has none.
std::string shortest(float value);
std::string shortest(double value);

/// A field of RFC 4180: quoted if it holds a comma, a quote or a line end; no formula for a spreadsheet.
std::string csvField(std::string_view text);

/// A word as a shell reads it back: quoted where it holds more than letters.
std::string shellWord(std::string_view text);

} // namespace headwise::app
