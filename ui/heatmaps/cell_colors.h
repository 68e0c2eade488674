#pragma once

#include "ui/heatmaps/heatmap_painter.h"

namespace headwise::ui {

/// Returns black or white, whichever has the higher WCAG contrast on `ground`.
QColor inkOn(Rgb ground);

} // namespace headwise::ui
