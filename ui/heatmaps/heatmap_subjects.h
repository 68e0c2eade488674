#pragma once

#include "ui/base/text.h"
#include "ui/heatmaps/heatmap_view.h"
#include "ui/widgets/subject.h"

#include <cmath>
#include <functional>
#include <utility>

namespace headwise::ui {

/// Tells which heads or token each cell of `view` is about. The number is the cell's.
inline void setCellSubjects(HeatmapView* view, std::function<Subject(int row, int column)> of)
{
    setSubjects(view, [view, of = std::move(of)](const QPoint& position) {
        const std::optional<QPoint> cell = view->isEmpty() ? std::nullopt : view->cells().at(position);
        if (!cell)
            return Subject{};
        Subject subject = of(cell->y(), cell->x());
        if (const float value = view->scene().at(cell->y(), cell->x()); std::isfinite(value))
            subject.value = exactNumber(value);
        return subject;
    });
}

/// The same for a grid [layer, head].
inline void setHeadSubjects(HeatmapView* grid)
{
    setCellSubjects(grid, [](int layer, int head) { return Subject{.heads = {HeadId{layer, head}}}; });
}

} // namespace headwise::ui
