#pragma once

#include "ui/heatmaps/heatmap_painter.h"

#include <algorithm>

namespace headwise::ui {

/// Whichever of black and white has the higher WCAG contrast on `ground`.
QColor inkOn(Rgb ground);

/// Colours of cells, those of the values no cell can show included.
struct CellColors {
    Colorizer color;
    ColorScale scale;
    BeyondColors beyond;
    bool marksBeyond; // By colour: the cells are too small for marks.

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
