#pragma once

#include "core/base/result.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <string_view>

namespace spdlog {
class logger;
}

namespace headwise {

/// The one logger of the program. Silent until `logToFile` or `logTo` gives it somewhere to write;
/// log text is not an interface.
spdlog::logger& logger();

/// Appends to `file` (its folder is made if missing), 1 MiB a file, three files kept.
/// Errors: Io.
Result<Done> logToFile(const std::filesystem::path& file);

/// One finished line and its level ("info", "warning", …); may be called from any thread.
using LogLine = std::function<void(std::string_view level, std::string_view line)>;
void logTo(LogLine sink);

/// \param level trace, debug, info, warning, error or off
/// Errors: InvalidArgument, naming the levels.
Result<Done> setLogLevel(std::string_view level);

/// The folder where a program of this user keeps its log and recovery copies: $XDG_STATE_HOME/headwise, else
/// ~/.local/state/headwise, else, without HOME, /tmp/headwise-UID. Made if it is missing; nobody else may look into it.
std::filesystem::path stateFolder();

/// "0.1.0"
std::string_view versionText();

} // namespace headwise
