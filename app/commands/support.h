#pragma once

#include "core/base/result.h"

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace headwise::app {

/// Returns the exit code of a failure: 2 InvalidArgument; 3 NotFound, Corrupt, Unsupported; 4 Io, OutOfMemory, Internal;
/// 130 Cancelled.
int exitCode(ErrorCode code);

/// Prints one line on stderr for any sentence: line ends and control characters become \xNN.
void printError(std::string_view sentence);
void printWarnings(const std::vector<std::string>& sentences);
/// Prints no warning from now on: another process of the same run does.
void silenceWarnings();

/// Opens the log file in the state folder and sets its level. A log that cannot be written is an error only if a level
/// was given.
/// \param level empty: the default
Result<Done> startLog(const std::string& level);

/// Checks before minutes of work that a session can be written there.
/// Errors: Io (no such folder, a folder itself, no permission).
Result<Done> checkSessionPath(const std::filesystem::path& path);

/// Prints a value on stdout, indented, with keys in insertion order; NaN and infinities become null.
void printJson(const nlohmann::ordered_json& value);

/// Quotes a word for the shell if necessary.
std::string shellWord(std::string_view text);

} // namespace headwise::app
