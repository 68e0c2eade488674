#include "ui/widgets/cell_heat.h"

#include "core/results/color_scale.h"

#include <cmath>

namespace headwise::ui {

QColor heatColor(double share, const ThemeColors& colors)
{
    constexpr double strength = 0.4; // opacity of the colour map over the background
    if (!std::isfinite(share))
        return colors.base;
    ColorScale scale;
    scale.map = colors.dark ? darkTwin(ColorMap::Signed) : ColorMap::Signed;
    const auto over = QColor::fromRgb(colorOf(static_cast<float>(share), scale));
    const auto mixed = [](int ground, int top) {
        return ground + static_cast<int>(std::lround(strength * (top - ground)));
    };
    return {mixed(colors.base.red(), over.red()), mixed(colors.base.green(), over.green()),
            mixed(colors.base.blue(), over.blue())};
}

} // namespace headwise::ui
