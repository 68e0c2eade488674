#pragma once

#include "ui/figures/figure_recording.h"
#include "ui/heatmaps/heatmap_note.h"

#include <optional>

namespace headwise::ui {

/// A heatmap on paper: the painters of the screen, in the light theme at the paper's size.
class HeatmapFigure {
public:
    HeatmapFigure(const HeatmapContent* content, const HeatmapNote& note, HeatmapCellShape shape);

    /// Rings a cell; a row below 0 is none.
    void markCell(int row, int column) { m_marked = {column, row}; }
    void paint(QPainter& painter, const QSizeF& size, const FigureStyle& style,
               const FigureSource& source) const;
    /// Returns the place of the cells in a figure of that size.
    QRectF cellsOnPaper(const QSizeF& size, const FigureStyle& style, const FigureSource& source) const;
    /// Says which names a figure of that size leaves out; empty if none.
    QStringList omissions(const QSizeF& size, const FigureStyle& style, const FigureSource& source) const;

private:
    struct Layout; ///< The parts of a figure on its page.
    /// Widths beside the cells, in points.
    struct BarRoom {
        double bar = 0, title = 0;
        QStringList lines = {}; ///< Lines of the title.
    };
    BarRoom roomOfBar(const FigureStyle& style, double height, const QPaintDevice* device) const;
    Layout layOutBelow(const QRectF& below, const FigureStyle& style, const BarRoom& bar,
                       const QPaintDevice* device) const;
    /// Paints the head and lays the rest out below it.
    Layout layOut(QPainter& painter, const QSizeF& size, const FigureStyle& style,
                  const FigureSource& source) const;
    QString
    valueTitle(const FigureStyle& style) const; ///< The edited label of the bar, else the automatic one.
    QRectF withoutBar(QRectF area, const FigureStyle& style, const BarRoom& room) const;
    /// Paints the title and the note at the top. \return the area below them
    QRectF paintHead(QPainter& painter, const QSizeF& size, const FigureStyle& style,
                     const FigureSource& source, const QFont& font) const;
    QSize pixels() const;

    const HeatmapContent* m_content;
    const HeatmapNote& m_note;
    HeatmapCellShape m_shape;
    QPoint m_marked{-1, -1};
};

/// Returns the visible cells as an array; nothing if entries aggregate many cells, whose names say so.
std::optional<FigureArray> heatmapArray(const HeatmapContent& content);
/// Returns the visible part as in the picture: cells, or entries that aggregate as many cells as a pixel does.
DataRows heatmapRows(const HeatmapContent& content);

} // namespace headwise::ui
