#pragma once

#include "ui/base/theme.h"
#include "ui/charts/spectrum_chart.h"

#include <QFont>
#include <QRectF>

class QPainter;

namespace headwise::ui {

/// One pair of axes on some device: where it is and which part of the data it shows.
struct ChartFrame {
    QRectF plot;  ///< Device units.
    QRectF range; ///< Data units; y logarithmic on a log axis, top() the lowest.
    ChartLook look;
    QFont font; ///< Of labels.
    const ThemeColors& colors;
    double hairline = 1; ///< Width of grid and axes, device units.
    double legend = 0;   ///< Height of the names over the plot, device units; 0: they stand inside it.

    QPointF map(const QPointF& point) const;
    QPointF unmap(const QPointF& position) const;
};

/// The room that titles and labels take around the plot.
QMarginsF chartMargins(const ChartLook& look, const QFont& font, const QPaintDevice* device);

/// The range of `frame`, in the complex plane widened so that a unit is equally long on both axes.
QRectF equalUnits(const ChartFrame& frame);

/// A point as the axes show it; NaN where they cannot.
QPointF shownPoint(const QPointF& point, const ChartLook& look);
QColor seriesColor(int index, const ThemeColors& colors);
QColor shadeColor(float shade, const ThemeColors& colors); ///< Blue at 0, vermilion at 1.

void paintChartAxes(QPainter& painter, const ChartFrame& frame);
void paintChartBaselines(QPainter& painter, const ChartFrame& frame,
                         const std::vector<ChartBaseline>& baselines);
/// Bars from y − error to y + error, or an area around the line; bars of points too close to zero for a log axis down to its end.
void paintChartErrors(QPainter& painter, const ChartFrame& frame, const std::vector<ChartSeries>& series);
void paintChartBrackets(QPainter& painter, const ChartFrame& frame,
                        const std::vector<ChartBracket>& brackets);

/// How a series is drawn on its device.
struct SeriesLook {
    QColor color;
    int shape = 0;        ///< Of its markers; bars of a higher one are narrower.
    double lineWidth = 1; ///< Device units; markers grow with it.
    bool isHairline =
        false; ///< Lines one pixel wide, which Qt draws a hundred times faster: long ones on the screen.
};
/// How much of x a bar takes, as the axis shows it: most of what is between two neighbours; infinite for one alone.
double barWidth(const ChartSeries& series, const ChartLook& look);
void paintChartSeries(QPainter& painter, const ChartFrame& frame, const ChartSeries& series,
                      const SeriesLook& look);
/// The height of the names over the plot, rows from edge to edge; 0 where a corner of the plot has room for them.
double legendAbove(const ChartFrame& frame, const std::vector<ChartSeries>& series,
                   const QPaintDevice* device);
/// Names in the colour of their line, over the plot or in the corner of it where they hide least.
void paintChartLegend(QPainter& painter, const ChartFrame& frame, const std::vector<ChartSeries>& series);
void paintChartNote(QPainter& painter, const ChartFrame& frame, const QString& note);
/// Classes differ also in shape: disc, square, diamond, triangle, in this order.
void paintMarker(QPainter& painter, const QPointF& at, int shape, double size);

} // namespace headwise::ui
