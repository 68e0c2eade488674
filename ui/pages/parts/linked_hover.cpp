#include "ui/pages/parts/linked_hover.h"

#include "ui/charts/pattern_grid.h"
#include "ui/charts/small_multiples.h"
#include "ui/document/selection.h"
#include "ui/heatmaps/heatmap_view.h"
#include "ui/widgets/table_figure.h"

namespace headwise::ui {

namespace {

template <typename Tiles>
void linkTiles(Tiles* tiles, Selection* selection)
{
    QObject::connect(tiles, &Tiles::hoverLeft, selection, [selection] { selection->setHovered({}); });
    QObject::connect(tiles, &Tiles::headHovered, selection, &Selection::setHovered);
    QObject::connect(selection, &Selection::hoveredChanged, tiles,
                     [tiles, selection] { tiles->setLit(selection->hovered()); });
}

} // namespace

void linkHover(HeatmapView* grid, Selection* selection)
{
    QObject::connect(grid, &HeatmapView::hoverLeft, selection, [selection] { selection->setHovered({}); });
    QObject::connect(grid, &HeatmapView::cellHovered, selection,
                     [grid, selection](int row, int column, float) {
                         if (grid->underMouse()) // not with a key
                             selection->setHovered(HeadId{row, column});
                     });
    QObject::connect(selection, &Selection::hoveredChanged, grid, [grid, selection] {
        const std::optional<HeadId> head = selection->hovered();
        grid->onScreen().setLitCells(head ? QList{QRect(head->head, head->layer, 1, 1)} : QList<QRect>());
    });
}

void linkHover(TableFigure* table, Selection* selection)
{
    QObject::connect(table, &TableFigure::headHovered, selection, &Selection::setHovered);
    QObject::connect(selection, &Selection::hoveredChanged, table,
                     [table, selection] { table->setLit(selection->hovered()); });
}

void linkHover(PatternGrid* grid, Selection* selection)
{
    linkTiles(grid, selection);
}

void linkHover(SmallMultiples* tiles, Selection* selection)
{
    linkTiles(tiles, selection);
}

} // namespace headwise::ui
