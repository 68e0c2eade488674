#include "ui/charts/chart_painter.h"
#include "ui/figures/math_text.h"

#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>
#include <cmath>
#include <limits>

namespace headwise::ui {

namespace {

constexpr double chartLegendGap = 4;

struct LegendRoom {
    QRectF place;
    std::ptrdiff_t hidden =
        std::numeric_limits<std::ptrdiff_t>::max(); ///< How many points of the series it covers.
};

/// Finds the corner of the plot where a legend of that size hides least. Ties go to the top right, then the top left.
LegendRoom legendRoom(const ChartFrame& frame, const QSizeF& size, const std::vector<ChartSeries>& series)
{
    const QRectF inside =
        frame.plot.adjusted(chartLegendGap, chartLegendGap, -chartLegendGap, -chartLegendGap);
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

/// Returns whether the legend names the series: it has a name, and the axes can show some of its points.
bool hasEntry(const ChartSeries& one, const ChartLook& look)
{
    const auto isShown = [&look](const QPointF& point) { return !std::isnan(shownPoint(point, look).x()); };
    return !one.name.isEmpty() && (one.points.isEmpty() || std::ranges::any_of(one.points, isShown));
}

constexpr double sampleLength = 18; // of a sample line before its name

/// A marker sample needs a frame, or it would look like one of the points.
double legendPadding(const std::vector<ChartSeries>& series, const ChartLook& look)
{
    const bool hasMarker = std::ranges::any_of(series, [&look](const ChartSeries& one) {
        return one.style == SeriesStyle::Points && hasEntry(one, look);
    });
    return hasMarker ? chartLegendGap : 0;
}

QSizeF sizeInside(const std::vector<ChartSeries>& series, const ChartLook& look, const QFontMetricsF& metrics)
{
    QSizeF size(0, 0);
    for (const ChartSeries& one : series)
        if (hasEntry(one, look))
            size = {std::max(size.width(), sampleLength + metrics.horizontalAdvance(one.name)),
                    size.height() + metrics.height()};
    const double padding = size.isEmpty() ? 0 : legendPadding(series, look);
    return size.grownBy(QMarginsF(padding, padding, padding, padding));
}

/// The names in rows above the plot.
struct LegendRows {
    std::vector<QPointF> places; ///< Top left of each name that fits, relative to the first.
    int hidden = 0;              ///< Number of names that do not fit.
    QPointF rest;                ///< Position of the text with that number.
};

QString restOf(int hidden)
{
    return QStringLiteral("+ %1").arg(hidden);
}

LegendRows rowsAbove(const std::vector<ChartSeries>& series, const ChartLook& look,
                     const QFontMetricsF& metrics, double width, int mostRows)
{
    const auto lengthOf = [&](const ChartSeries& one) {
        return !hasEntry(one, look) ? 0
                                    : sampleLength + metrics.horizontalAdvance(one.name) + 2 * chartLegendGap;
    };
    LegendRows rows;
    QPointF at;
    for (const ChartSeries& one : series) {
        const double length = lengthOf(one);
        if (at.x() > 0 && at.x() + length > width)
            at = {0, at.y() + metrics.height()};
        if (at.y() > (mostRows - 0.5) * metrics.height())
            break;
        rows.places.push_back(at);
        at.rx() += length;
    }
    const auto countHidden = [&] {
        rows.hidden =
            static_cast<int>(std::count_if(series.begin() + std::ssize(rows.places), series.end(),
                                           [&](const ChartSeries& one) { return hasEntry(one, look); }));
    };
    for (countHidden(); rows.hidden > 0 && !rows.places.empty(); rows.places.pop_back(), countHidden()) {
        const ChartSeries& last = series[rows.places.size() - 1];
        rows.rest = rows.places.back() + QPointF(lengthOf(last) - sampleLength, 0);
        const bool hasRoom =
            rows.rest.x() + metrics.horizontalAdvance(restOf(rows.hidden)) <= width - chartLegendGap;
        if (hasRoom || rows.places.back().x() == 0) // a name alone in its row is shortened
            break;
    }
    return rows;
}

/// Returns how many rows of names fit above a plot of that height.
int mostRowsAbove(double plotHeight, const QFontMetricsF& metrics)
{
    constexpr double most = 0.5;
    return static_cast<int>((most * plotHeight - chartLegendGap) / metrics.height());
}

/// Returns how many rows of names the frame has above its plot.
int legendRowCount(const ChartFrame& frame, const QFontMetricsF& metrics)
{
    return static_cast<int>(std::round((frame.legend - chartLegendGap) / metrics.height()));
}

struct NamePlace {
    QPointF at; ///< Start of the name, on its baseline.
    double end; ///< Right end of the available space.
};

void paintName(QPainter& painter, const ChartFrame& frame, const ChartSeries& series, int index,
               const NamePlace& place)
{
    const QPointF& at = place.at;
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
    drawMath(painter, at, metrics.elidedText(series.name, Qt::ElideRight, std::max(0.0, place.end - at.x())));
}

void paintLegendInside(QPainter& painter, const ChartFrame& frame, const std::vector<ChartSeries>& series)
{
    const QFontMetricsF metrics(frame.font, painter.device());
    const double padding = legendPadding(series, frame.look);
    const auto [place, hidden] = legendRoom(frame, sizeInside(series, frame.look, metrics), series);
    const bool isFramed = padding > 0;
    if (isFramed || hidden > 0) { // readable over the points it covers
        QColor veil = frame.colors.base;
        veil.setAlphaF(0.85F);
        painter.setBrush(veil);
        painter.setPen(isFramed ? QPen(frame.colors.border, frame.hairline) : QPen(Qt::NoPen));
        painter.drawRect(place);
    }
    const QRectF room = place.adjusted(padding, padding, -padding, -padding);
    double y = room.top() + metrics.ascent();
    for (std::size_t i = 0; i < series.size(); ++i) {
        if (!hasEntry(series[i], frame.look))
            continue;
        const double x = room.right() - metrics.horizontalAdvance(series[i].name);
        paintName(painter, frame, series[i], placeOf(series, i), {{x, y}, frame.plot.right()});
        y += metrics.height();
    }
}

void paintLegendAbove(QPainter& painter, const ChartFrame& frame, const std::vector<ChartSeries>& series)
{
    const QFontMetricsF metrics(frame.font, painter.device());
    const LegendRows rows =
        rowsAbove(series, frame.look, metrics, frame.plot.width(), legendRowCount(frame, metrics));
    const QPointF first = frame.plot.topLeft() + QPointF(sampleLength, metrics.ascent() - frame.legend);
    const double restWidth =
        rows.hidden > 0 ? metrics.horizontalAdvance(restOf(rows.hidden)) + chartLegendGap : 0;
    for (std::size_t i = 0; i < rows.places.size(); ++i) {
        const bool isLast = i + 1 == rows.places.size();
        if (hasEntry(series[i], frame.look))
            paintName(painter, frame, series[i], placeOf(series, i),
                      {first + rows.places[i], frame.plot.right() - (isLast ? restWidth : 0)});
    }
    if (rows.hidden == 0)
        return;
    const double right = frame.plot.right() - metrics.horizontalAdvance(restOf(rows.hidden));
    painter.setPen(frame.colors.muted);
    painter.drawText(QPointF(std::min(first.x() + rows.rest.x(), right), first.y() + rows.rest.y()),
                     restOf(rows.hidden));
}

} // namespace

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

QRectF legendInside(const ChartFrame& frame, const std::vector<ChartSeries>& series,
                    const QPaintDevice* device)
{
    const QSizeF size = sizeInside(series, frame.look, QFontMetricsF(frame.font, device));
    return frame.legend > 0 || frame.ends > 0 || size.isEmpty() ? QRectF()
                                                                : legendRoom(frame, size, series).place;
}

double legendAbove(const ChartFrame& frame, const std::vector<ChartSeries>& series,
                   const QPaintDevice* device)
{
    constexpr double most = 0.4; // of the plot's width and height, if inside
    const QFontMetricsF metrics(frame.font, device);
    const QSizeF inside = sizeInside(series, frame.look, metrics);
    if (inside.isEmpty() || frame.plot.isEmpty())
        return 0;
    const bool isSmall =
        inside.width() <= most * frame.plot.width() && inside.height() <= most * frame.plot.height();
    if (isSmall && legendRoom(frame, inside, series).hidden == 0)
        return 0;
    const int mostRows = mostRowsAbove(frame.plot.height(), metrics);
    if (mostRows < 1)
        return 0;
    const LegendRows rows = rowsAbove(series, frame.look, metrics, frame.plot.width(), mostRows);
    return rows.places.back().y() + metrics.height() + chartLegendGap;
}

int namesWithoutRoom(const ChartFrame& frame, const std::vector<ChartSeries>& series,
                     const QPaintDevice* device)
{
    if (frame.ends > 0 || frame.legend <= 0)
        return 0;
    const QFontMetricsF metrics(frame.font, device);
    return rowsAbove(series, frame.look, metrics, frame.plot.width(), legendRowCount(frame, metrics)).hidden;
}

void paintChartLegend(QPainter& painter, const ChartFrame& frame, const std::vector<ChartSeries>& series)
{
    painter.save();
    painter.setFont(frame.font);
    const QFontMetricsF metrics(frame.font, painter.device());
    if (frame.ends > 0) {
        paintEndNames(painter, frame, series);
    } else if (frame.legend > 0) {
        paintLegendAbove(painter, frame, series);
    } else if (!sizeInside(series, frame.look, metrics).isEmpty()) {
        paintLegendInside(painter, frame, series);
    }
    painter.restore();
}

} // namespace headwise::ui
