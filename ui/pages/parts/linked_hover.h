#pragma once

namespace headwise::ui {

class HeatmapView;
class PatternGrid;
class Selection;
class SmallMultiples;
class TableFigure;

// Each makes a view set the hovered head of the selection, and show the head that is hovered elsewhere.

void linkHover(HeatmapView* grid, Selection* selection); ///< A grid [layer, head].
void linkHover(TableFigure* table, Selection* selection);
void linkHover(PatternGrid* grid, Selection* selection);
void linkHover(SmallMultiples* tiles, Selection* selection);

} // namespace headwise::ui
