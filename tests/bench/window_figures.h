#pragma once

#include "tests/bench/figures.h"

namespace headwise::bench {

bool windowIsBuilt();

/// The same for the window; none where it is not built.
std::vector<Figure> windowFigures(const Subject& subject, const Limits& limits);

void endWindowJobs(); ///< What still runs in the window that the figures shared; before main() returns.

/// Opens the model in a window, waits for the analyses of all heads, visits a few heads on every page and closes.
/// For a process of its own, whose peak memory is the figure. \returns the exit code
int useWindow(const std::filesystem::path& folder);

/// The window without a model, in a process of its own that ends once it is painted. \returns the exit code
int startWindow();

} // namespace headwise::bench
