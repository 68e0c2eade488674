#pragma once

#include "tests/bench/figures.h"

namespace headwise::bench {

/// Cost of a frame on the window's thread while a heatmap of 1280 × 800 pixels is panned and zoomed. Qt must be running.
std::vector<Figure> frameFigures(const Limits& limits);

} // namespace headwise::bench
