#pragma once

#include "ui/heatmaps/heatmap_colors.h"
#include "ui/heatmaps/heatmap_layout.h"

class QEvent;

namespace headwise::ui {

/// The note in the corner of a heatmap: aggregate, values out of range, values not finite, shared or locked scale.
class HeatmapNote {
public:
    HeatmapNote(const HeatmapContent* content, const HeatmapColors* colors, const HeatmapLayout& cells);

    QString text() const;                       ///< For the screen.
    QString textFor(const QSize& pixels) const; ///< For a picture with this many device pixels.
    QRectF
    area() const; ///< Area of the chip: below the cells, without room there in their corner; empty: none.
    void paint(QPainter& painter, const ThemeColors& colors) const; ///< Nothing while the mouse is over it.
    /// Handles the mouse moving or leaving. \return whether the note must be painted again
    bool lookUnder(const QEvent& event);

private:
    QStringList linesWithin(double width) const; ///< The words in a chip of that width.

    const HeatmapContent* m_content;
    const HeatmapColors* m_colors;
    const HeatmapLayout& m_cells;
    bool m_looksUnder = false; // the mouse is at the note's place
};

} // namespace headwise::ui
