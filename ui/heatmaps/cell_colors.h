#pragma once

#include "ui/heatmaps/heatmap_painter.h"

namespace headwise::ui {

/// Returns the relative luminance of WCAG 2.2, 0 to 1.
double luminance(const QColor& color);

/// Returns black or white, whichever has the higher WCAG contrast on `ground`.
QColor inkOn(Rgb ground);

} // namespace headwise::ui
