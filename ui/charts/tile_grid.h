#pragma once

#include <QPoint>
#include <QRectF>

#include <algorithm>
#include <optional>

namespace headwise::ui {

/// Equal cells in rows and columns. A tile is its cell without the gap to the next.
struct TileGrid {
    QRectF area;
    int rows = 0, columns = 0;
    QSizeF gap;

    QSizeF place() const { return {area.width() / std::max(1, columns), area.height() / std::max(1, rows)}; }
    QRectF tile(int row, int column) const
    {
        const QSizeF size = place();
        return {area.left() + column * size.width(), area.top() + row * size.height(),
                std::max(1.0, size.width() - gap.width()), std::max(1.0, size.height() - gap.height())};
    }
    /// (column, row) of the cell that contains `position`.
    std::optional<QPoint> at(const QPointF& position) const
    {
        if (rows == 0 || columns == 0 || !area.contains(position))
            return std::nullopt;
        const QPointF inside = position - area.topLeft();
        const QSizeF size = place();
        return QPoint(std::min(columns - 1, static_cast<int>(inside.x() / size.width())),
                      std::min(rows - 1, static_cast<int>(inside.y() / size.height())));
    }
};

} // namespace headwise::ui
