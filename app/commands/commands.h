#pragma once

namespace headwise::app {

/// Runs `headwise ARGUMENTS` and returns its exit code (DESIGN: 0 good, 1 no, 2 usage, 3 bad input, 4 system, 130 cancelled).
int runCommandLine(int argc, char** argv);

} // namespace headwise::app
