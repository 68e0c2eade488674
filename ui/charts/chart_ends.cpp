// Names of lines at their ends, right of the plot.

#include "ui/charts/chart_content.h"
#include "ui/charts/chart_painter.h"
#include "ui/figures/math_text.h"

#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>
#include <cmath>
#include <optional>

namespace headwise::ui {

namespace {

constexpr std::size_t mostEndNames = 6;
constexpr double endLeader = 8; // from the plot to a name
constexpr double endGap = 3;    // on both sides of a name

struct EndName {
    int series = 0;
    double end = 0;    ///< y of the line's end, within the plot.
    double middle = 0; ///< y of the name's middle.
};

/// The last point of a line that the axes can show, left of the plot's right edge where there is one, in device units.
std::optional<QPointF> endOf(const ChartFrame& frame, const ChartSeries& series)
{
    std::optional<QPointF> end;
    for (const QPointF& point : series.points) {
        const QPointF at = frame.map(shownPoint(point, frame.look));
        if (std::isfinite(at.x()) && std::isfinite(at.y()) && (!end || at.x() <= frame.plot.right() + 0.5))
            end = at;
    }
    return end;
}

/// Moves names apart, so that none covers another and all are beside the plot.
void spread(std::vector<EndName>& names, const QRectF& plot, double height)
{
    std::ranges::stable_sort(names, {}, &EndName::end);
    double above = plot.top() - height / 2;
    for (EndName& name : names)
        above = name.middle = std::max(name.end, above + height);
    double below = plot.bottom() + height / 2;
    for (auto name = names.rbegin(); name != names.rend(); ++name)
        below = name->middle = std::min(name->middle, below - height);
}

bool isNamedLine(const ChartFrame& frame, const ChartSeries& series)
{
    constexpr double farthest = 0.1; // of the plot's width, from a line's end to the edge
    const bool isLine = series.style == SeriesStyle::Line || series.style == SeriesStyle::Dashed;
    if (!isLine || series.name.isEmpty() || series.points.size() < 2)
        return false;
    const auto end = endOf(frame, series);
    return end && end->x() >= frame.plot.right() - farthest * frame.plot.width();
}

} // namespace

double endNamesWidth(const ChartFrame& frame, const std::vector<ChartSeries>& series,
                     const QPaintDevice* device)
{
    constexpr double most = 0.25; // of the plot's width
    const QFontMetricsF metrics(frame.font, device);
    if (series.size() < 2 || series.size() > mostEndNames || frame.look.plane != ChartLook::Plane::Free
        || static_cast<double>(series.size()) * metrics.height() > frame.plot.height()
        || !std::ranges::all_of(series, [&](const ChartSeries& one) { return isNamedLine(frame, one); }))
        return 0;
    double widest = 0;
    for (const ChartSeries& one : series)
        widest = std::max(widest, metrics.horizontalAdvance(one.name));
    const double width = endLeader + 2 * endGap + widest;
    return width <= most * frame.plot.width() ? width : 0;
}

void paintEndNames(QPainter& painter, const ChartFrame& frame, const std::vector<ChartSeries>& series)
{
    const QFontMetricsF metrics(frame.font, painter.device());
    std::vector<EndName> names;
    for (std::size_t i = 0; i < series.size(); ++i)
        if (const auto end = endOf(frame, series[i]))
            names.push_back(
                {static_cast<int>(i), std::clamp(end->y(), frame.plot.top(), frame.plot.bottom()), 0});
    spread(names, frame.plot, metrics.height());
    const double right = frame.plot.right();
    for (const EndName& name : names) {
        const ChartSeries& line = series[static_cast<std::size_t>(name.series)];
        const int place = placeOf(series, static_cast<std::size_t>(name.series));
        painter.setPen(
            linePen(line, {.color = seriesColor(place, frame.colors), .lineWidth = frame.hairline}));
        painter.drawLine(QPointF(right, name.end), QPointF(right + endLeader, name.middle));
        painter.setPen(nameColor(place, frame.colors));
        drawMath(
            painter,
            QPointF(right + endLeader + endGap, name.middle + (metrics.ascent() - metrics.descent()) / 2),
            line.name);
    }
}

void makeRoomForNames(ChartFrame& frame, const ChartContent& content, const QPaintDevice* device)
{
    ChartFrame whole = frame;
    whole.range = fullRange(content); // independent of the zoom
    frame.ends = endNamesWidth(whole, content.series, device);
    if (frame.ends <= 0)
        makeRoomAbove(frame, content.series, device);
    frame.plot.adjust(0, frame.legend, -frame.ends, 0);
}

} // namespace headwise::ui
