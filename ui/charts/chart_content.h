#pragma once

#include "ui/charts/chart_painter.h"
#include "ui/figures/figure_export.h"

#include <functional>

namespace headwise::ui {

/// Returns the range that shows all points, baselines and whole bars, with a margin.
QRectF fullRange(const ChartContent& content);
/// Says how many points are left out and why; empty if none is.
QString omittedNote(const ChartContent& content, int omitted);
/// Paints the part `range` of a chart within `page`, in the light theme. \return the axes on the page
ChartFrame paintChartOnPaper(QPainter& painter, const ChartContent& content, const QRectF& range,
                             const QRectF& page, const FigureStyle& style);
/// Calls `writeRow` with a header and then with every point.
void writeChartRows(const ChartContent& content, const std::function<void(const QStringList&)>& writeRow);

} // namespace headwise::ui
