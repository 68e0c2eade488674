#include "ui/views/chart_painter.h"

#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>
#include <cmath>
#include <limits>

namespace headwise::ui {

namespace {

constexpr double gap = 4;

/// The places on the device that a series is drawn at, close enough together to tell what lies under a legend.
std::vector<QPointF> drawnPlaces(const ChartFrame& frame, const std::vector<ChartSeries>& series)
{
    constexpr double step = 8; // px
    std::vector<QPointF> places;
    const auto walk = [&places](const QPointF& from, const QPointF& to) {
        const QPointF way = to - from;
        const int steps = static_cast<int>(std::min(200.0, std::hypot(way.x(), way.y()) / step));
        for (int i = 1; i < steps; ++i)
            places.push_back(from + way * i / steps);
    };
    for (const ChartSeries& one : series) {
        QPointF last;
        bool hasLast = false;
        for (const QPointF& point : one.points) {
            const QPointF place = frame.map(shownPoint(point, frame.look));
            if (!std::isfinite(place.x()) || !std::isfinite(place.y())) {
                hasLast = false;
                continue;
            }
            if (one.style == SeriesStyle::Bars)
                walk({place.x(), frame.plot.bottom()}, place);
            else if (hasLast && one.style != SeriesStyle::Points)
                walk(last, place);
            places.push_back(place);
            last = place;
            hasLast = true;
        }
    }
    return places;
}

struct LegendRoom {
    QRectF place;
    std::ptrdiff_t hidden =
        std::numeric_limits<std::ptrdiff_t>::max(); ///< How much of the series lies under it.
};

/// The corner of the plot where a legend of that size hides least; of equal ones the top right, then the top left.
LegendRoom legendRoom(const ChartFrame& frame, const QSizeF& size, const std::vector<ChartSeries>& series)
{
    const QRectF inside = frame.plot.adjusted(gap, gap, -gap, -gap);
    const double right = inside.right() - size.width(), bottom = inside.bottom() - size.height();
    const std::vector<QPointF> places = drawnPlaces(frame, series);
    LegendRoom best;
    for (const QPointF& corner : {QPointF(right, inside.top()), inside.topLeft(), QPointF(right, bottom),
                                  QPointF(inside.left(), bottom)}) {
        const QRectF room(corner, size);
        const auto hidden = std::ranges::count_if(places, [&](const QPointF& p) { return room.contains(p); });
        if (hidden < best.hidden)
            best = {room, hidden};
    }
    return best;
}

constexpr double sampleLength = 18; // of a line, before its name

/// A sample of a marker is framed, or it would pass for one of the points.
double legendPadding(const std::vector<ChartSeries>& series)
{
    const bool hasMarker = std::ranges::any_of(series, [](const ChartSeries& one) {
        return one.style == SeriesStyle::Points && !one.name.isEmpty();
    });
    return hasMarker ? gap : 0;
}

QSizeF sizeInside(const std::vector<ChartSeries>& series, const QFontMetricsF& metrics)
{
    QSizeF size(0, 0);
    for (const ChartSeries& one : series)
        if (!one.name.isEmpty())
            size = {std::max(size.width(), sampleLength + metrics.horizontalAdvance(one.name)),
                    size.height() + metrics.height()};
    const double padding = size.isEmpty() ? 0 : legendPadding(series);
    return size.grownBy(QMarginsF(padding, padding, padding, padding));
}

/// Where the names stand in rows of `width`, the top left of each from that of the first.
std::vector<QPointF> placesAbove(const std::vector<ChartSeries>& series, const QFontMetricsF& metrics,
                                 double width)
{
    std::vector<QPointF> places;
    QPointF at;
    for (const ChartSeries& one : series) {
        const double length =
            one.name.isEmpty() ? 0 : sampleLength + metrics.horizontalAdvance(one.name) + 2 * gap;
        if (at.x() > 0 && at.x() + length > width)
            at = {0, at.y() + metrics.height()};
        places.push_back(at);
        at.rx() += length;
    }
    return places;
}

/// \param at  where the name begins, on its baseline
void paintName(QPainter& painter, const ChartFrame& frame, const ChartSeries& series, int index,
               const QPointF& at)
{
    const QFontMetricsF metrics(frame.font, painter.device());
    const QColor color = seriesColor(index, frame.colors);
    const double middle = at.y() - metrics.ascent() / 2 + metrics.descent() / 4;
    painter.setPen(QPen(color, 1.5 * frame.hairline,
                        series.style == SeriesStyle::Dashed ? Qt::DashLine : Qt::SolidLine));
    painter.setBrush(color);
    if (series.style == SeriesStyle::Points)
        paintMarker(painter, {at.x() - 10, middle}, index, 5);
    else
        painter.drawLine(QPointF(at.x() - sampleLength, middle), QPointF(at.x() - 5, middle));
    painter.setPen(color);
    painter.drawText(
        at, metrics.elidedText(series.name, Qt::ElideRight, std::max(0.0, frame.plot.right() - at.x())));
}

void paintLegendInside(QPainter& painter, const ChartFrame& frame, const std::vector<ChartSeries>& series)
{
    const QFontMetricsF metrics(frame.font, painter.device());
    const double padding = legendPadding(series);
    const auto [place, hidden] = legendRoom(frame, sizeInside(series, metrics), series);
    const bool isFramed = padding > 0;
    if (isFramed || hidden > 0) { // readable over what it has to share its place with
        QColor veil = frame.colors.base;
        veil.setAlphaF(0.85F);
        painter.setBrush(veil);
        painter.setPen(isFramed ? QPen(frame.colors.border, frame.hairline) : QPen(Qt::NoPen));
        painter.drawRect(place);
    }
    const QRectF room = place.adjusted(padding, padding, -padding, -padding);
    double y = room.top() + metrics.ascent();
    for (std::size_t i = 0; i < series.size(); ++i) {
        if (series[i].name.isEmpty())
            continue;
        const double x = room.right() - metrics.horizontalAdvance(series[i].name);
        paintName(painter, frame, series[i], static_cast<int>(i), {x, y});
        y += metrics.height();
    }
}

} // namespace

double legendAbove(const ChartFrame& frame, const std::vector<ChartSeries>& series,
                   const QPaintDevice* device)
{
    constexpr double most = 0.4; // of the plot's width and height, inside it
    constexpr double mostAbove = 0.5;
    const QFontMetricsF metrics(frame.font, device);
    const QSizeF inside = sizeInside(series, metrics);
    if (inside.isEmpty() || frame.plot.isEmpty())
        return 0;
    const bool isSmall =
        inside.width() <= most * frame.plot.width() && inside.height() <= most * frame.plot.height();
    if (isSmall && legendRoom(frame, inside, series).hidden == 0)
        return 0;
    const double height =
        placesAbove(series, metrics, frame.plot.width()).back().y() + metrics.height() + gap;
    return height <= mostAbove * frame.plot.height() ? height : 0;
}

void paintChartLegend(QPainter& painter, const ChartFrame& frame, const std::vector<ChartSeries>& series)
{
    painter.save();
    painter.setFont(frame.font);
    const QFontMetricsF metrics(frame.font, painter.device());
    if (frame.legend > 0) {
        const std::vector<QPointF> places = placesAbove(series, metrics, frame.plot.width());
        const QPointF first = frame.plot.topLeft() + QPointF(sampleLength, metrics.ascent() - frame.legend);
        for (std::size_t i = 0; i < series.size(); ++i)
            if (!series[i].name.isEmpty())
                paintName(painter, frame, series[i], static_cast<int>(i), first + places[i]);
    } else if (!sizeInside(series, metrics).isEmpty()) {
        paintLegendInside(painter, frame, series);
    }
    painter.restore();
}

} // namespace headwise::ui
