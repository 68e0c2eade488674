#pragma once

#include "core/base/result.h"

#include <filesystem>
#include <functional>
#include <string_view>

namespace headwise {

/// One line into the log, which is silent until `logToFile` or `logTo` gives it somewhere to write; log text is not an interface.
/// The words come as one string: with the logger's own placeholders every caller would compile the formatting of the library anew.
void logInfo(std::string_view words);
void logWarning(std::string_view words);
void logDebug(std::string_view words);

/// Writes what the log's files still hold back.
void flushLog();

/// Appends the log to `file` (its folder is created if missing). Three files of 1 MiB are kept.
/// Errors: Io.
Result<Done> logToFile(const std::filesystem::path& file);

/// One finished line and its level ("info", "warning", …); may be called from any thread.
using LogLine = std::function<void(std::string_view level, std::string_view line)>;
void logTo(LogLine sink);

/// Sets the lowest level that is logged.
/// \param level trace, debug, info, warning, error or off
/// Errors: InvalidArgument, naming the levels.
Result<Done> setLogLevel(std::string_view level);

/// Returns the folder for this user's log and recovery copies: $XDG_STATE_HOME/headwise, else ~/.local/state/headwise,
/// else, without HOME, /tmp/headwise-UID. Creates it if missing; only the user can read it.
std::filesystem::path stateFolder();

/// "0.1.0"
std::string_view versionText();

} // namespace headwise
