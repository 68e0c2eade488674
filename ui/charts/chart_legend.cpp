#include "ui/charts/chart_painter.h"
#include "ui/figures/figure_export_title.h"
#include "ui/figures/math_text.h"
#include "ui/heatmaps/cell_colors.h"

#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

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
    std::vector<QPointF> places = drawnPlaces(frame, series);
    for (const double level : frame.levels) {
        const std::vector<QPointF> line = placesAlong(frame, level);
        places.insert(places.end(), line.begin(), line.end());
    }
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

/// Returns whether the legend names the series: it has a name that does not stand at its point already, and the axes can
/// show some of its points or it explains a baseline.
bool hasEntry(const ChartSeries& one, const ChartLook& look)
{
    const auto isShown = [&look](const QPointF& point) { return !std::isnan(shownPoint(point, look).x()); };
    const bool isNamedAtPoint = one.isSelection && !one.pointNames.empty();
    return !one.name.isEmpty() && !isNamedAtPoint
        && (one.place == ChartSeries::ofBaseline || std::ranges::any_of(one.points, isShown));
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
    std::vector<QPointF> places;    ///< Top left of each name that fits, relative to the first.
    std::vector<QStringList> lines; ///< Each name: several lines where it is wider than the plot.
    int hidden = 0;                 ///< Number of names that do not fit.
    QPointF rest;                   ///< Position of the text with that number.

    double height(const QFontMetricsF& metrics) const
    {
        return places.back().y() + metrics.height() * static_cast<double>(lines.back().size());
    }
};

QString restOf(int hidden)
{
    return QStringLiteral("+ %1").arg(hidden);
}

/// Breaks a name that is wider than the plot into as many lines as there is room for; the last has the rest.
QStringList nameLines(const QString& name, const ChartFrame& frame, const QPaintDevice* device, int most)
{
    const double width = frame.plot.width() - sampleLength;
    if (most < 2 || QFontMetricsF(frame.font, device).horizontalAdvance(name) <= width)
        return {name};
    QStringList lines = wrappedLines(name, frame.font, width, device);
    while (lines.size() > most) {
        const QString last = lines.takeLast();
        lines.last() += u' ' + last;
    }
    return lines;
}

LegendRows rowsAbove(const ChartFrame& frame, const std::vector<ChartSeries>& series,
                     const QPaintDevice* device, int mostRows)
{
    const QFontMetricsF metrics(frame.font, device);
    const double width = frame.plot.width();
    const auto lengthOf = [&](const ChartSeries& one) {
        return !hasEntry(one, frame.look)
            ? 0
            : sampleLength + metrics.horizontalAdvance(one.name) + 2 * chartLegendGap;
    };
    LegendRows rows;
    double x = 0;
    int row = 0, tall = 1; // lines of the row
    for (const ChartSeries& one : series) {
        const double length = lengthOf(one);
        if (x > 0 && x + length > width) {
            x = 0;
            row += std::exchange(tall, 1);
        }
        if (row >= mostRows)
            break;
        rows.places.emplace_back(x, row * metrics.height());
        rows.lines.push_back(x > 0 ? QStringList{one.name}
                                   : nameLines(one.name, frame, device, mostRows - row));
        tall = std::max(tall, static_cast<int>(rows.lines.back().size()));
        x += length;
    }
    const auto countHidden = [&] {
        rows.hidden = static_cast<int>(
            std::count_if(series.begin() + std::ssize(rows.places), series.end(),
                          [&](const ChartSeries& one) { return hasEntry(one, frame.look); }));
    };
    for (countHidden(); rows.hidden > 0 && !rows.places.empty();
         rows.places.pop_back(), rows.lines.pop_back(), countHidden()) {
        const ChartSeries& last = series[rows.places.size() - 1];
        rows.rest = rows.places.back() + QPointF(lengthOf(last) - sampleLength, 0);
        const bool hasRoom =
            rows.rest.x() + metrics.horizontalAdvance(restOf(rows.hidden)) <= width - chartLegendGap;
        if (hasRoom || rows.places.back().x() == 0) // a name alone in its row is shortened
            break;
    }
    return rows;
}

/// Returns how many rows of names fit above the plot. On paper, where no pointer tells a hidden name, they may take more of it.
int mostRowsAbove(const ChartFrame& frame, const QFontMetricsF& metrics)
{
    const double most = frame.isPaper ? 0.6 : 0.5;
    return static_cast<int>((most * frame.plot.height() - chartLegendGap) / metrics.height());
}

/// The frame with the type of the names above its plot.
ChartFrame withLegendType(const ChartFrame& frame)
{
    ChartFrame own = frame;
    if (frame.legendType > 0)
        own.font.setPointSizeF(frame.legendType);
    return own;
}

/// Returns how many names are left out or shortened.
int namesLost(const LegendRows& rows, const ChartFrame& frame, const QFontMetricsF& metrics)
{
    const double width = frame.plot.width() - sampleLength;
    return rows.hidden + static_cast<int>(std::ranges::count_if(rows.lines, [&](const QStringList& lines) {
               return metrics.horizontalAdvance(lines.last()) > width;
           }));
}

/// Returns how many rows of names the frame has above its plot.
int legendRowCount(const ChartFrame& frame, const QFontMetricsF& metrics)
{
    return static_cast<int>(std::round((frame.legend - chartLegendGap) / metrics.height()));
}

struct NamePlace {
    std::size_t entry; ///< The series.
    QPointF at;        ///< Start of the name, on its baseline.
    double end;        ///< Right end of the available space.
};

/// Paints a name in lines, with a sample of its series before the first.
void paintName(QPainter& painter, const ChartFrame& frame, const std::vector<ChartSeries>& series,
               const QStringList& lines, const NamePlace& place)
{
    const ChartSeries& one = series[place.entry];
    const int index = placeOf(series, place.entry);
    QPointF at = place.at;
    const QFontMetricsF metrics(frame.font, painter.device());
    const QColor color =
        one.place == ChartSeries::ofBaseline ? frame.colors.muted : seriesColor(index, frame.colors);
    const double middle = at.y() - metrics.ascent() / 2 + metrics.descent() / 4;
    painter.setPen(linePen(
        one,
        {.color = color, .lineWidth = 1.5 * frame.hairline, .dashes = dashesOf(frame, series, place.entry)}));
    painter.setBrush(color);
    const QPointF sample(at.x() - sampleLength, middle);
    if (one.style == SeriesStyle::Points)
        paintMarker(painter, {at.x() - 10, middle}, index, 5);
    else if (one.style == SeriesStyle::Bars)
        painter.drawRect(QRectF(sample + QPointF(5, -3), QSizeF(7, 6)));
    else
        painter.drawLine(sample, QPointF(at.x() - 5, middle));
    painter.setPen(one.place == ChartSeries::ofBaseline ? color : nameColor(index, frame.colors));
    for (const QString& line : lines) {
        drawMath(painter, at, metrics.elidedText(line, Qt::ElideRight, std::max(0.0, place.end - at.x())));
        at.ry() += metrics.height();
    }
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
        paintName(painter, frame, series, {series[i].name}, {i, {x, y}, frame.plot.right()});
        y += metrics.height();
    }
}

void paintLegendAbove(QPainter& painter, const ChartFrame& shown, const std::vector<ChartSeries>& series)
{
    const ChartFrame frame = withLegendType(shown);
    painter.setFont(frame.font);
    const QFontMetricsF metrics(frame.font, painter.device());
    const LegendRows rows = rowsAbove(frame, series, painter.device(), legendRowCount(frame, metrics));
    const QPointF first = frame.plot.topLeft() + QPointF(sampleLength, metrics.ascent() - frame.legend);
    const double restWidth =
        rows.hidden > 0 ? metrics.horizontalAdvance(restOf(rows.hidden)) + chartLegendGap : 0;
    for (std::size_t i = 0; i < rows.places.size(); ++i) {
        const bool isLast = i + 1 == rows.places.size();
        if (hasEntry(series[i], frame.look))
            paintName(painter, frame, series, rows.lines[i],
                      {i, first + rows.places[i], frame.plot.right() - (isLast ? restWidth : 0)});
    }
    if (rows.hidden == 0)
        return;
    const double right = frame.plot.right() - metrics.horizontalAdvance(restOf(rows.hidden));
    painter.setPen(frame.colors.muted);
    painter.drawText(QPointF(std::min(first.x() + rows.rest.x(), right), first.y() + rows.rest.y()),
                     restOf(rows.hidden));
}

} // namespace

QColor nameColor(int place, const ThemeColors& colors)
{
    constexpr double readable = 4.5;
    const QColor line = seriesColor(place, colors);
    const auto contrast = [](const QColor& a, const QColor& b) {
        const auto [low, high] = std::minmax({luminance(a), luminance(b)});
        return (high + 0.05) / (low + 0.05);
    };
    QColor ink = line;
    for (float share = 0; share < 1; share += 0.05F) {
        const auto mixed = [share](float from, float to) { return from + share * (to - from); };
        ink = QColor::fromRgbF(mixed(line.redF(), colors.text.redF()),
                               mixed(line.greenF(), colors.text.greenF()),
                               mixed(line.blueF(), colors.text.blueF()));
        if (std::min(contrast(ink, colors.window), contrast(ink, colors.base)) >= readable)
            break;
    }
    return ink;
}

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

void makeRoomAbove(ChartFrame& frame, const std::vector<ChartSeries>& series, const QPaintDevice* device)
{
    constexpr double most = 0.4; // of the plot's width and height, if inside
    constexpr double step = 0.5; // points
    const QSizeF inside = sizeInside(series, frame.look, QFontMetricsF(frame.font, device));
    if (inside.isEmpty() || frame.plot.isEmpty())
        return;
    const bool isSmall =
        inside.width() <= most * frame.plot.width() && inside.height() <= most * frame.plot.height();
    if (isSmall && legendRoom(frame, inside, series).hidden == 0)
        return;
    const double wanted = frame.font.pointSizeF();
    const double smallest = frame.isPaper ? smallestType(wanted) : wanted;
    for (double points = wanted;; points = std::max(smallest, points - step)) {
        if (points < wanted)
            frame.legendType = points;
        const ChartFrame tried = withLegendType(frame);
        const QFontMetricsF metrics(tried.font, device);
        const int mostRows = mostRowsAbove(tried, metrics);
        const LegendRows rows = mostRows < 1 ? LegendRows() : rowsAbove(tried, series, device, mostRows);
        const bool isWhole = mostRows >= 1 && namesLost(rows, tried, metrics) == 0;
        if (!isWhole && points > smallest)
            continue;
        frame.legend = mostRows < 1 ? 0 : rows.height(metrics) + chartLegendGap;
        return;
    }
}

int namesWithoutRoom(const ChartFrame& frame, const std::vector<ChartSeries>& series,
                     const QPaintDevice* device)
{
    if (frame.ends > 0 || frame.legend <= 0)
        return 0;
    const ChartFrame own = withLegendType(frame);
    const QFontMetricsF metrics(own.font, device);
    return namesLost(rowsAbove(own, series, device, legendRowCount(own, metrics)), own, metrics);
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
