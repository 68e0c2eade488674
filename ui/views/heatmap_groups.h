#pragma once

#include "ui/views/heatmap_painter.h"

class QPen;

namespace headwise::ui {

/// Thin lines after every `size` rows and columns, where groups of them meet: layers of heads. Nothing for a size of 0.
///
/// A view draws them whose property "linesEvery" says how many.
void paintHeatmapGroups(QPainter& painter, const QRectF& cells, const HeatmapScene& scene, int size,
                        const QPen& pen);

} // namespace headwise::ui
