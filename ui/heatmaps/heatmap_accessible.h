#pragma once

namespace headwise::ui {

class HeatmapView;

/// Makes heatmaps accessible as tables whose cells have a value, a row header and a column header. Call it once; further
/// calls do nothing.
void installHeatmapAccessibility();
/// Tells screen readers the current cell, if there is one.
void announceHeatmapCell(HeatmapView* view);

} // namespace headwise::ui
