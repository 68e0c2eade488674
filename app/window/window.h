#pragma once

#include "app/commands/commands.h"

namespace headwise::app {

/// Hands the request to the running headwise, if there is one for this display.
/// \returns nothing: this program has to do it itself; else the exit code
std::optional<int> runElsewhere(const WindowRequest& request);

/// Shows the windows asked for and returns when the last is closed, with the exit code of the program.
int runWindow(int& argc, char** argv, const WindowRequest& request);

} // namespace headwise::app
