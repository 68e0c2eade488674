#pragma once

#include "ui/heatmaps/heatmap_painter.h"

class QPen;

namespace headwise::ui {

/// Thin lines where groups of rows and columns meet: layers of heads. They fade as they come close to each other, and are gone
/// before they would hide the cells.
void paintHeatmapGroups(QPainter& painter, const QRectF& cells, const HeatmapScene& scene, const QPen& pen);

} // namespace headwise::ui
