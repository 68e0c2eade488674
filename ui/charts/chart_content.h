#pragma once

#include "ui/charts/chart_painter.h"
#include "ui/figures/figure_export.h"

#include <functional>

namespace headwise::ui {

/// Returns the range that shows all points, baselines and whole bars, with a margin.
QRectF fullRange(const ChartContent& content);
/// Says how many points are left out and why; empty if none is.
QString omittedNote(const ChartContent& content, int omitted);
/// Returns what an export shows: the chosen series in their order, without the marks of the selection unless asked for.
ChartContent contentOnPaper(const ChartContent& shown, const FigureStyle& style);
/// A chart as it is drawn on a page: its series with those of the legend alone, and its axes.
struct PaperChart {
    ChartContent content;
    ChartFrame frame;
    double barShare = 1; ///< Part of the usual width that bars have side by side.
};
/// Paints the part `range` of a chart within `page`, in the light theme.
PaperChart paintChartOnPaper(QPainter& painter, const ChartContent& content, const QRectF& range,
                             const QRectF& page, const FigureStyle& style);
/// The place of the plot, without its labels, as paintChartOnPaper() draws it.
QRectF chartPlotOnPaper(const ChartContent& content, const QRectF& range, const QRectF& page,
                        const FigureStyle& style);
/// Returns the series and points that can be chosen for an export.
FigureParts chartParts(const std::vector<ChartSeries>& series);
/// Says what paintChartOnPaper() leaves out for lack of room, a few words each.
QStringList chartOmissions(const ChartContent& content, const QRectF& range, const QRectF& page,
                           const FigureStyle& style);
/// Calls `writeRow` with a header and then with every point.
void writeChartRows(const ChartContent& content, const std::function<void(const QStringList&)>& writeRow);

} // namespace headwise::ui
