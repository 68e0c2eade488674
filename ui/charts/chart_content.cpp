#include "ui/charts/chart_content.h"

#include "ui/base/text.h"

#include <algorithm>
#include <cmath>

namespace headwise::ui {

namespace {

/// Returns half the width of the widest bars or boxes in displayed units; 0 without them.
double halfBar(const ChartContent& content)
{
    double half = 0;
    for (const ChartSeries& series : content.series)
        if (series.style == SeriesStyle::Bars && series.points.size() > 1)
            half = std::max(half, barWidth(series, content.look) / 2);
        else if (series.style == SeriesStyle::Boxes)
            half = std::max(half, boxWidth / 2);
    return std::isfinite(half) ? half : 0;
}

} // namespace

QRectF fullRange(const ChartContent& content)
{
    QRectF range;
    bool any = false;
    const auto include = [&](const QPointF& point) {
        if (std::isnan(point.x()) || std::isnan(point.y()))
            return;
        const QRectF dot(point, QSizeF(0, 0));
        range = any ? QRectF(QPointF(std::min(range.left(), point.x()), std::min(range.top(), point.y())),
                             QPointF(std::max(range.right(), point.x()), std::max(range.bottom(), point.y())))
                    : dot;
        any = true;
    };
    for (const ChartSeries& series : content.series)
        for (const QPointF& point : series.points) {
            include(shownPoint(point, content.look));
            if (series.style == SeriesStyle::Bars)
                include(shownPoint({point.x(), 0}, content.look)); // bars start at zero
        }
    for (const ChartSeries& series : content.series)
        for (std::size_t i = 0; series.hasBand && i < series.errors.size(); ++i)
            for (const double side : {-1.0, 1.0})
                include(shownPoint(series.points[static_cast<qsizetype>(i)]
                                       + QPointF(0, side * double{series.errors[i]}),
                                   content.look));
    if (!any)
        return {0, 0, 1, 1};
    for (const ChartBaseline& baseline : content.baselines)
        include({range.left(), shownPoint({1, baseline.y}, content.look).y()});
    if (content.look.plane == ChartLook::Plane::Complex)
        for (const QPointF& corner : {QPointF(-1, -1), QPointF(1, 1)})
            include(corner);
    if (content.look.plane == ChartLook::Plane::LogPolar) {
        const double reach =
            1.1 * std::max({1.0, -range.left(), range.right(), -range.top(), range.bottom()});
        return {-reach, -reach, 2 * reach, 2 * reach};
    }
    // A flat line or a single point still needs an extent.
    const double width = range.width() > 0 ? range.width() : 1;
    const double height = range.height() > 0 ? range.height() : std::max(1e-6, std::abs(range.top()));
    const bool plane = content.look.plane == ChartLook::Plane::Complex;
    const bool clouds = std::ranges::any_of(
        content.series, [](const ChartSeries& s) { return s.style >= SeriesStyle::Points; });
    const double padX = std::max((plane || clouds         ? 0.05
                                      : range.width() > 0 ? 0.0
                                                          : 0.5)
                                     * width,
                                 halfBar(content)); // so that the first and the last bar or box are whole
    // Bars and counts stand on the axis: below zero there is nothing, and no tick.
    const bool standsOnZero = range.top() == 0 && content.look.yScale == ChartLook::Scale::Linear
        && (content.look.wholeY || std::ranges::any_of(content.series, [](const ChartSeries& s) {
                                  return s.style == SeriesStyle::Bars;
                              }));
    return range.adjusted(-padX, standsOnZero ? 0 : -0.06 * height, padX, 0.06 * height);
}

QString omittedNote(const ChartContent& content, int omitted)
{
    if (omitted == 0)
        return {};
    const bool isLog =
        content.look.yScale == ChartLook::Scale::Log || content.look.xScale == ChartLook::Scale::Log;
    const QString why = content.look.plane == ChartLook::Plane::LogPolar ? LineChart::tr("too close to zero")
        : isLog                                                          ? LineChart::tr("not above zero")
                                                                         : LineChart::tr("not finite");
    return omitted == 1 ? LineChart::tr("1 point is left out: %1").arg(why)
                        : LineChart::tr("%1 points are left out: %2").arg(ui::count(omitted), why);
}

void writeChartRows(const ChartContent& content, const std::function<void(const QStringList&)>& writeRow)
{
    const auto hasLabels = [](const ChartSeries& series) {
        return series.style == SeriesStyle::Points && !series.labels.isEmpty();
    };
    QStringList names{std::ranges::any_of(content.series, hasLabels) ? QStringLiteral("name")
                                                                     : QStringLiteral("series"),
                      content.look.xTitle.isEmpty() ? QStringLiteral("x") : content.look.xTitle,
                      content.look.yTitle.isEmpty() ? QStringLiteral("y") : content.look.yTitle};
    if (content.look.plane == ChartLook::Plane::LogPolar) // hidden points are exported all the same
        names = {names.front(), LineChart::tr("real part"), LineChart::tr("imaginary part")};
    const bool hasErrors =
        std::ranges::any_of(content.series, [](const ChartSeries& s) { return !s.errors.empty(); });
    writeRow(hasErrors ? names << QStringLiteral("error") : names);
    for (auto series = content.series.begin(); series != content.series.end(); ++series) {
        const auto next = series + 1;
        // A curve through the points of the next series repeats them.
        const bool isRepeated = next != content.series.end() && next->points == series->points;
        if (series->isSelection || isRepeated)
            continue;
        for (qsizetype i = 0; i < series->points.size(); ++i) {
            const QPointF& point = series->points[i];
            QStringList row{series->labels.value(i, series->name), exactNumber(point.x()),
                            exactNumber(point.y())};
            const auto at = static_cast<std::size_t>(i);
            if (hasErrors)
                row << (at < series->errors.size() ? exactNumber(series->errors[at]) : QString());
            writeRow(row);
        }
    }
}

} // namespace headwise::ui
