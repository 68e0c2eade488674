#pragma once

#include "tests/bench/figures.h"

namespace headwise::bench {

/// How long one waits for the window: its start, what the mouse is on, what a key finds. Qt has been started.
std::vector<Figure> responseFigures(const Limits& limits);

} // namespace headwise::bench
