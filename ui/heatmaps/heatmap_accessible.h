#pragma once

namespace headwise::ui {

/// Makes heatmaps accessible as tables whose cells have a value, a row header and a column header. Call it once; further
/// calls do nothing.
void installHeatmapAccessibility();

} // namespace headwise::ui
