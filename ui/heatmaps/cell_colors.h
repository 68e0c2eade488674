#pragma once

#include "ui/heatmaps/heatmap_painter.h"

#include <algorithm>

namespace headwise::ui {

/// Returns black or white, whichever has the higher WCAG contrast on `ground`.
QColor inkOn(Rgb ground);

/// Maps values to cell colours, including NaN and values out of range.
struct CellColors {
    Colorizer color;
    ColorScale scale;
    BeyondColors beyond;
    bool marksBeyond; // Shows out-of-range values by colour, because the cells are too small for marks.

    CellColors(const HeatmapScene& scene, const QSize& size)
        : color(scene.scale)
        , scale(scene.scale)
        , beyond(beyondColors(scene.scale))
        , marksBeyond(std::min(size.width() / scene.visible.width(), size.height() / scene.visible.height())
                      < markSize)
    {
    }

    QRgb operator()(float value) const
    {
        if (marksBeyond && (value > scale.high || value < scale.low))
            return value > scale.high ? beyond.high : beyond.low;
        return color(value);
    }
};

} // namespace headwise::ui
