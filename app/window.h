#pragma once

#include <filesystem>

namespace headwise::app {

/// Shows the main window and returns when it is closed, with the exit code of the program.
/// \param toOpen  a model or a session; empty: nothing is opened
int runWindow(int& argc, char** argv, const std::filesystem::path& toOpen);

} // namespace headwise::app
