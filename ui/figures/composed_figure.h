#pragma once

#include "ui/figures/figure_export.h"

#include <QRectF>

#include <vector>

class QPaintDevice;

namespace headwise::ui {

/// Several figures on one page, in a grid, each with a title, and mostly a bold letter, above it.
///
/// The data of a row's panels begin at the same height, those of a column at the same left edge. Type keeps its size:
/// panels thin their own labels.
class ComposedFigure : public FigureSource {
public:
    /// One figure and its place; rows and columns from 0. The source must outlive the page.
    struct Panel {
        const FigureSource* source = nullptr;
        QString label;          ///< "a"
        bool isLettered = true; ///< The label stands before the title.
        QString title;          ///< May be empty.
        int row = 0, column = 0, rowSpan = 1, columnSpan = 1;
    };
    /// Shares of the width and of the height; as many as the grid has columns and rows.
    struct Grid {
        std::vector<double> widths, heights;
    };

    ComposedFigure(std::vector<Panel> panels, Grid grid, const QString& caption);

    const std::vector<Panel>& panels() const { return m_panels; }
    /// Names the panels that have too little room on a page of that size; empty: none.
    QStringList crowded(const QSizeF& size, const FigureStyle& style) const;

    /// The places of the panels' pictures on a page of that size.
    std::vector<QRectF> bodies(const QSizeF& size, const FigureStyle& style) const;

    void paintFigure(QPainter& painter, const QSizeF& size, const FigureStyle& style) const override;
    QStringList omissions(const QSizeF& size, const FigureStyle& style) const override;
    /// A row for each number: panel, row of its table, column of its table, value.
    void forEachDataRow(const std::function<void(const QStringList&)>& writeRow) const override;

private:
    /// The place of one panel: its letter and title, and its picture below them.
    struct Place {
        QRectF head, body;
        QStringList title; ///< Its lines.
    };
    /// \param top of the panels, below the title of the figure
    std::vector<Place> places(const QSizeF& size, double top, const FigureStyle& style,
                              QPaintDevice* device) const;
    /// One edge of a panel: left or top.
    struct Edge {
        qreal (QRectF::*position)() const;
        void (QRectF::*setPosition)(qreal);
        qreal (QRectF::*length)() const;
    };
    /// Moves that edge of the panels of each row or column, so that their data begin at the same place.
    void align(std::vector<Place>& places, const FigureStyle& style, int Panel::*track, int Panel::*span,
               const Edge& edge) const;
    static QString letterOf(const Panel& panel) { return panel.isLettered ? panel.label : QString(); }
    void paintHead(QPainter& painter, const Panel& panel, const Place& place, const FigureStyle& style) const;

    std::vector<Panel> m_panels;
    Grid m_grid;
    QString m_caption;
};

} // namespace headwise::ui
