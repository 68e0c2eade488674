#pragma once

#include <filesystem>
#include <optional>

namespace headwise::app {

/// Runs `headwise ARGUMENTS` and returns its exit code (DESIGN: 0 good, 1 no, 2 usage, 3 bad input, 4 system, 130 cancelled).
int runCommandLine(int argc, char** argv);

/// What the window is asked to open: an empty path for a bare `headwise`, the model or session that is its only
/// argument; nothing if the arguments are a sub-command's.
///
/// A first argument that exists, ends in .h5 or contains a '/' is a file to open unless a sub-command has that name.
std::optional<std::filesystem::path> windowRequest(int argc, char** argv);

/// Whether there is a screen to show a window on, as far as the environment tells.
bool hasDisplay();

} // namespace headwise::app
