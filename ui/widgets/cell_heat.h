#pragma once

#include "ui/base/theme.h"

namespace headwise::ui {

/// Returns the background colour of a number in a table: the signed map, so pale that the theme's text stays readable on
/// it.
/// \param share −1 … 1 of the largest magnitude in the table; 0 is the table's own background
QColor heatColor(double share, const ThemeColors& colors);

} // namespace headwise::ui
