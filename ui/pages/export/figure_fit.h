#pragma once

#include "ui/figures/figure_export.h"

namespace headwise::ui {

inline constexpr double sameLength = 0.06; ///< mm; differences that the boxes round away

/// Index into figurePresets of the preset with this size; −1: none.
int presetOf(const FigureSettings& settings);

/// Changes the height of a preset size to what `source` needs; other sizes stay.
FigureSettings fittedToView(const FigureSource& source, FigureSettings settings);

} // namespace headwise::ui
