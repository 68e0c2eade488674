#pragma once

#include "ui/heatmaps/heatmap_painter.h"

#include <QFontMetricsF>

#include <optional>

class QWidget;

namespace headwise::ui {

enum class HeatmapCellShape { Stretched, Square };

/// The places of a heatmap's cells in its widget, and the space of the labels around them.
class HeatmapLayout {
public:
    HeatmapLayout(QWidget* widget, const HeatmapScene& scene);

    void setShape(HeatmapCellShape shape) { m_shape = shape; }
    HeatmapCellShape shape() const { return m_shape; }
    QRectF area() const;                    ///< Area of all cells in widget coordinates.
    QSize pixels() const;                   ///< Size of the area in device pixels.
    QRectF rect(int row, int column) const; ///< One cell in widget coordinates.
    /// Returns (column, row) of the cell at a position.
    std::optional<QPoint> at(const QPointF& position) const;
    /// Returns the position in fractions of the area, outside 0 … 1 beside the cells.
    QPointF partAt(const QPointF& position) const;
    /// The largest size that square cells can use in each direction; QWIDGETSIZE_MAX for other cells.
    QSize usableSize() const;
    HeatmapFonts fonts() const;
    QFontMetricsF metrics() const; ///< Metrics of the text.
    const HeatmapRoom& room() const;
    const QWidget* widget() const { return m_widget; }
    void forgetRoom() { m_room.reset(); } ///< Its inputs have changed.

private:
    QWidget* m_widget;
    const HeatmapScene& m_scene;
    HeatmapCellShape m_shape = HeatmapCellShape::Stretched;
    mutable std::optional<HeatmapRoom> m_room; // From hundreds of measured labels; null when out of date.
};

} // namespace headwise::ui
