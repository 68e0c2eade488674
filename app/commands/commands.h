#pragma once

#include "app/address.h"
#include "core/base/result.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace headwise::app {

/// Runs `headwise ARGUMENTS` and returns its exit code (CONTRACTS.md §14).
int runCommandLine(int argc, char** argv);

/// The command line of the window.
struct WindowRequest {
    std::vector<std::filesystem::path>
        toOpen;                       ///< Models and sessions, one window each; empty for a bare `headwise`.
    std::optional<Address> address;   ///< --goto
    bool newWindow = false;           ///< Opens a new window even if one is running.
    bool fresh = false;               ///< Neither reads nor writes settings and recovery files.
    std::filesystem::path screenshot; ///< Written once everything is shown; then the program exits.
    std::string logLevel;             ///< Empty: the default level.
};

/// Parses the window's arguments; nothing if they are a sub-command's.
///
/// An argument that exists, ends in .h5, contains a '/' or names a model in the Hugging Face cache is opened, unless a sub-command
/// has that name.
/// Errors: InvalidArgument (an invalid address, a cached model of several revisions); NotFound (an address of a missing model).
std::optional<Result<WindowRequest>> windowRequest(int argc, char** argv);

/// Tells whether the environment names a screen.
bool hasDisplay();

} // namespace headwise::app
