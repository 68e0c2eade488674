#pragma once

#include "ui/heatmaps/heatmap_colors.h"
#include "ui/heatmaps/heatmap_layout.h"

namespace headwise::ui {

/// The note below a heatmap: aggregate, values out of range, values not finite, shared or locked scale. It has a strip of
/// its own and never covers cells.
class HeatmapNote {
public:
    HeatmapNote(const HeatmapContent* content, const HeatmapColors* colors, const HeatmapLayout& cells);

    QString text() const;                       ///< For the screen.
    QString textFor(const QSize& pixels) const; ///< For a picture with this many device pixels.
    QRectF area() const;                        ///< Below the cells; empty: no note, or no room for one.
    double wantedHeight() const; ///< Height of the strip that the note needs, whatever the zoom; 0: none.
    void paint(QPainter& painter, const ThemeColors& colors) const;

private:
    QString numbersText(const HeatmapScene& scene, const QSize& pixels) const;
    QString screenText(const HeatmapScene& scene, const QSize& pixels) const;
    /// The words as they are painted: where they begin, and their lines; no lines: no note, or no room for one.
    struct Words {
        double left = 0;
        QStringList lines;
    };
    Words wordsBelow(const QRectF& cells, const QString& words) const;
    QRectF areaOf(const Words& words) const;

    const HeatmapContent* m_content;
    const HeatmapColors* m_colors;
    const HeatmapLayout& m_cells;
};

} // namespace headwise::ui
