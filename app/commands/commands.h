#pragma once

#include "app/address.h"
#include "core/base/result.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace headwise::app {

/// Runs `headwise ARGUMENTS` and returns its exit code (DESIGN: 0 good, 1 no, 2 usage, 3 bad input, 4 system, 130 cancelled).
int runCommandLine(int argc, char** argv);

/// What the window is asked for.
struct WindowRequest {
    std::vector<std::filesystem::path>
        toOpen;                       ///< Models and sessions, a window each; empty for a bare `headwise`.
    std::optional<Address> address;   ///< --goto
    bool newWindow = false;           ///< Of its own, whatever is running.
    bool fresh = false;               ///< Without settings and recovery, neither read nor written.
    std::filesystem::path screenshot; ///< Written once everything is shown; then the program ends.
    std::string logLevel;             ///< Empty: the usual one.
};

/// Nothing if the arguments are a sub-command's.
///
/// An argument that exists, ends in .h5 or contains a '/' is a file to open unless a sub-command has that name.
/// Errors: InvalidArgument (an address that cannot be read); NotFound (an address of a model that is not there).
std::optional<Result<WindowRequest>> windowRequest(int argc, char** argv);

/// Whether there is a screen to show a window on, as far as the environment tells.
bool hasDisplay();

} // namespace headwise::app
