#pragma once

#include "tests/bench/figures.h"

namespace headwise::bench {

bool windowIsBuilt();

/// The figures of the window; none in a build without it.
std::vector<Figure> windowFigures(const Subject& subject, const Limits& limits);

void endWindowJobs(); ///< Ends the remaining jobs of the shared window; call it before main() returns.

/// Opens the model in a window, waits for the analyses of all heads, visits a few heads on every page and closes. Needs a
/// process of its own, whose peak memory is the figure. \returns the exit code
int useWindow(const std::filesystem::path& folder);

/// Opens a window without a model in a process of its own, which exits once it is painted. \returns the exit code
int startWindow();

} // namespace headwise::bench
