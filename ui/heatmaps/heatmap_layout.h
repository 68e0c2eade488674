#pragma once

#include "ui/heatmaps/heatmap_painter.h"

#include <QFontMetricsF>

#include <functional>
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
    /// Sets the function that measures the note below the cells; it may ask for areaAbove().
    void setNoteHeight(std::function<double()> measure) { m_measureNote = std::move(measure); }
    QRectF area() const;                       ///< Area of all cells in widget coordinates.
    QRectF areaAbove(double noteHeight) const; ///< The area if the note had that height.
    QSize pixels() const;                      ///< Size of the area in device pixels.
    QRectF rect(int row, int column) const;    ///< One cell in widget coordinates.
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
    /// Measures the note again. It only grows, so that the cells stay in place. \return whether the cells have moved
    bool growNote();
    void forgetRoom();                          ///< Its inputs have changed.
    void forgetNote() { m_noteHeight.reset(); } ///< The same for the note alone.

private:
    QMarginsF marginsWith(double noteHeight) const;
    double noteHeight() const;

    QWidget* m_widget;
    const HeatmapScene& m_scene;
    HeatmapCellShape m_shape = HeatmapCellShape::Stretched;
    std::function<double()> m_measureNote;
    mutable std::optional<HeatmapRoom> m_room;  // From hundreds of measured labels; null when out of date.
    mutable std::optional<double> m_noteHeight; // px; null when out of date.
};

} // namespace headwise::ui
