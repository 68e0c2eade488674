#pragma once

#include "ui/base/theme.h"

namespace headwise::ui {

/// The quiet ground of a number in a table: the signed map, thinned so far that the theme's text is readable on all of it.
/// \param share −1 … 1 of the largest magnitude that the table shows; 0 is the table's own ground
QColor heatColor(double share, const ThemeColors& colors);

} // namespace headwise::ui
