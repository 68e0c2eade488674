#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace headwise::app {

/// Runs `headwise ARGUMENTS` and returns its exit code (DESIGN: 0 good, 1 no, 2 usage, 3 bad input, 4 system, 130 cancelled).
int runCommandLine(int argc, char** argv);

/// What the window is asked for.
struct WindowRequest {
    std::filesystem::path toOpen; ///< A model or a session; empty for a bare `headwise`.
    std::string logLevel;         ///< Empty: the usual one.
};

/// Nothing if the arguments are a sub-command's.
///
/// An argument that exists, ends in .h5 or contains a '/' is a file to open unless a sub-command has that name.
std::optional<WindowRequest> windowRequest(int argc, char** argv);

/// Whether there is a screen to show a window on, as far as the environment tells.
bool hasDisplay();

} // namespace headwise::app
