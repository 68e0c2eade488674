#pragma once

#include "tests/bench/figures.h"

namespace headwise::bench {

/// What a frame costs the window's thread while a heatmap of 1280 × 800 pixels is panned and zoomed. Qt has been started.
std::vector<Figure> frameFigures(const Limits& limits);

} // namespace headwise::bench
