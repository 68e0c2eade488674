#pragma once

#include "ui/heatmaps/heatmap_painter.h"

class QPen;

namespace headwise::ui {

/// Draws thin lines between groups of rows and columns, such as layers of heads. They fade when they are close together,
/// before they would hide the cells.
void paintHeatmapGroups(QPainter& painter, const QRectF& cells, const HeatmapScene& scene, const QPen& pen);

} // namespace headwise::ui
