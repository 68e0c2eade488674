#pragma once

#include "tests/bench/figures.h"

namespace headwise::bench {

/// Waiting times of the window: start, read-out under the mouse, search. Qt must be running.
std::vector<Figure> responseFigures(const Limits& limits);

} // namespace headwise::bench
