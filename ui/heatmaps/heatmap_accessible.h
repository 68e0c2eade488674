#pragma once

namespace headwise::ui {

/// Heatmaps as assistive technology reads them: a table whose cells have a value, a row header and a column header. Once for the
/// program; further calls do nothing.
void installHeatmapAccessibility();

} // namespace headwise::ui
