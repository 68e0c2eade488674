#pragma once

#include "tests/support/painted_texts.h"
#include "ui/charts/chart_painter.h"

#include <QPainter>
#include <QStringList>

#include <vector>

namespace headwise::test {

inline QStringList legendNames(const ui::LineChart& chart, const std::vector<ui::ChartSeries>& series)
{
    TextCollector page(chart.size());
    QPainter painter(&page);
    ui::paintChartLegend(painter, chart.frame(), series);
    painter.end();
    QStringList names;
    for (const PaintedText& name : page.texts())
        names << name.words;
    return names;
}

/// Returns the names in the legend of series of which the chart draws nothing.
inline QStringList namesWithoutCurve(const ui::LineChart& chart)
{
    std::vector<ui::ChartSeries> drawn = chart.series();
    for (ui::ChartSeries& one : drawn)
        if (one.place != ui::ChartSeries::ofBaseline && ui::drawnPlaces(chart.frame(), {one}).empty())
            one.name.clear();
    QStringList names = legendNames(chart, chart.series());
    for (const QString& name : legendNames(chart, drawn))
        names.removeOne(name);
    return names;
}

} // namespace headwise::test
