#pragma once

#include "core/analysis/color_scale.h"

namespace headwise::ui {

/// What can be chosen for values without a sign.
inline constexpr std::array sequentialMaps{ColorMap::Viridis, ColorMap::Cividis, ColorMap::Gray,
                                           ColorMap::HighContrast};

/// The colours that pictures have until their reader chooses others.
struct ColorChoice {
    ColorMap sequential = ColorMap::Viridis; ///< One of sequentialMaps.
    bool redIsNegative = false;              ///< Of signed values: red to blue.

    bool operator==(const ColorChoice&) const = default;
};

const ColorChoice& colorChoice();
/// From now on, and in the pictures on screen that still have the colours chosen before.
void setColorChoice(const ColorChoice& choice);

/// The scale a picture begins with, its limits not fitted.
ColorScale firstScale(bool isSigned, ColorFit fit = ColorFit::Full);

} // namespace headwise::ui
