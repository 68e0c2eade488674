#include "ui/charts/chart_painter.h"

#include <QPainter>
#include <QPolygonF>

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <limits>

// Lines, bars and points of a chart.

namespace headwise::ui {

namespace {

constexpr qsizetype mostMarkers = 4000; // Larger series are drawn as dots.

// Clips a segment to a rectangle (Liang and Barsky 1984). SVG output has no clipping of its own.
bool clip(QPointF& from, QPointF& to, const QRectF& area)
{
    double enter = 0;
    double leave = 1;
    const QPointF d = to - from;
    const std::array<std::pair<double, double>, 4> sides{{{-d.x(), from.x() - area.left()},
                                                          {d.x(), area.right() - from.x()},
                                                          {-d.y(), from.y() - area.top()},
                                                          {d.y(), area.bottom() - from.y()}}};
    for (const auto& [p, q] : sides) {
        if (p == 0 && q < 0)
            return false;
        if (p < 0)
            enter = std::max(enter, q / p);
        else if (p > 0)
            leave = std::min(leave, q / p);
    }
    if (enter > leave)
        return false;
    to = from + leave * d;
    from += enter * d;
    return true;
}

/// Paints bars from zero. Those of a higher shape are narrower and in front.
void paintBars(QPainter& painter, const ChartFrame& frame, const ChartSeries& series, const SeriesLook& look)
{
    const double part = std::min(barWidth(series, frame.look), 0.8 * frame.range.width());
    const double width = look.barShare
        * std::clamp(part / frame.range.width() * frame.plot.width(), 1.0, 48.0 / look.barShare)
        / (1 + 0.6 * look.shape);
    const double zero = frame.look.yScale == ChartLook::Scale::Log ? frame.range.top() : 0;
    const double foot = std::clamp(frame.map({0, zero}).y(), frame.plot.top(), frame.plot.bottom());
    QColor fill = look.color;
    fill.setAlphaF(0.85F);
    painter.setPen(Qt::NoPen);
    painter.setBrush(fill);
    for (const QPointF& given : series.points) {
        const QPointF at = frame.map(shownPoint(given, frame.look));
        if (std::isnan(at.x()) || at.x() < frame.plot.left() || at.x() > frame.plot.right())
            continue;
        const double end = std::clamp(at.y(), frame.plot.top(), frame.plot.bottom());
        painter.drawRect(
            QRectF(QPointF(std::max(at.x() - width / 2, frame.plot.left()), std::min(end, foot)),
                   QPointF(std::min(at.x() + width / 2, frame.plot.right()), std::max(end, foot))));
    }
}

/// Paints boxes of boxWidth, on wide charts narrower.
void paintBoxes(QPainter& painter, const ChartFrame& frame, const ChartSeries& series, const SeriesLook& look)
{
    const double half = std::clamp(boxWidth / 2 / frame.range.width() * frame.plot.width(), 1.5, 14.0);
    QColor fill = look.color;
    fill.setAlphaF(0.25F);
    painter.setBrush(fill);
    constexpr qsizetype each = 5;
    for (qsizetype box = 0; box + each <= series.points.size(); box += each) {
        std::array<double, each> y{};
        QPointF at;
        for (qsizetype i = 0; i < each; ++i) {
            at = frame.map(shownPoint(series.points[box + i], frame.look));
            y[static_cast<std::size_t>(i)] = std::clamp(at.y(), frame.plot.top(), frame.plot.bottom());
        }
        if (std::isnan(at.x()) || at.x() < frame.plot.left() || at.x() > frame.plot.right())
            continue;
        const auto across = [&](double height, double reach) {
            painter.drawLine(QPointF(at.x() - reach, height), QPointF(at.x() + reach, height));
        };
        painter.setPen(QPen(look.color, look.lineWidth));
        painter.drawLine(QPointF(at.x(), y[0]), QPointF(at.x(), y[1]));
        painter.drawLine(QPointF(at.x(), y[3]), QPointF(at.x(), y[4]));
        across(y[0], half / 2);
        across(y[4], half / 2);
        painter.drawRect(QRectF(QPointF(at.x() - half, y[3]), QPointF(at.x() + half, y[1])));
        painter.setPen(QPen(look.color, 2 * look.lineWidth, Qt::SolidLine, Qt::FlatCap));
        across(y[2], half);
    }
}

void paintPoints(QPainter& painter, const ChartFrame& frame, const ChartSeries& series,
                 const SeriesLook& look)
{
    const bool dots = series.points.size() > mostMarkers;
    QColor fill = look.color;
    fill.setAlphaF(dots ? 0.5F : 0.8F);
    painter.setPen(Qt::NoPen);
    painter.setBrush(fill);
    // A selected point covers one of another series: it is larger, so that both are seen.
    const double size = (series.isSelection ? 5 : 3) * look.lineWidth + 1;
    for (qsizetype i = 0; i < series.points.size(); ++i) {
        const QPointF at = frame.map(shownPoint(series.points[i], frame.look));
        if (std::isnan(at.x()) || !frame.plot.contains(at))
            continue;
        if (static_cast<std::size_t>(i) < series.shades.size())
            painter.setBrush(shadeColor(series.shades[static_cast<std::size_t>(i)], frame.colors));
        if (dots)
            painter.fillRect(QRectF(at.x() - 1, at.y() - 1, 2, 2), painter.brush());
        else
            paintMarker(painter, at, look.shape, size);
    }
}

/// Paints the area from y − error to y + error along the line, cut to the plot, because SVG output does not clip.
void paintBand(QPainter& painter, const ChartFrame& frame, const ChartSeries& series, QColor color)
{
    QPolygonF area, below;
    const auto count = static_cast<qsizetype>(series.errors.size());
    area.reserve(2 * count);
    below.reserve(count);
    for (qsizetype i = 0; i < std::min(count, series.points.size()); ++i) {
        const QPointF error(0, double{series.errors[static_cast<std::size_t>(i)]});
        const QPointF high = frame.map(shownPoint(series.points[i] + error, frame.look));
        const QPointF low = frame.map(shownPoint(series.points[i] - error, frame.look));
        if (std::isnan(high.y()) || std::isnan(low.y()))
            continue;
        area << high;
        below << low;
    }
    std::reverse(below.begin(), below.end());
    area << below;
    if (!frame.plot.contains(area.boundingRect()))
        area = area.intersected(frame.plot);
    color.setAlphaF(0.18F);
    painter.setPen(Qt::NoPen);
    painter.setBrush(color);
    painter.drawPolygon(area);
}

} // namespace

int placeOf(const std::vector<ChartSeries>& series, std::size_t index)
{
    return series[index].place < 0 ? static_cast<int>(index) : series[index].place;
}

QList<qreal> dashesOf(const ChartFrame& frame, const std::vector<ChartSeries>& series, std::size_t index)
{
    static const std::array<QList<qreal>, 6> patterns{
        QList<qreal>{}, {6, 2.5}, {1.5, 1.5}, {6, 1.5, 1.5, 1.5}, {10, 3}, {3, 1.5, 1.5, 1.5, 1.5, 1.5}};
    // A line through markers differs by their shape.
    const auto isLine = [&series](std::size_t i) {
        return series[i].style < SeriesStyle::Points && !series[i].name.isEmpty()
            && series[i].place != ChartSeries::ofBaseline;
    };
    std::ptrdiff_t lines = 0;
    for (std::size_t i = 0; i < series.size(); ++i)
        lines += isLine(i) ? 1 : 0;
    const bool isNamedByOther = series[index].style == SeriesStyle::Dashed && series[index].name.isEmpty();
    if (!frame.isPaper || lines < 2 || (!isLine(index) && !isNamedByOther))
        return {};
    return patterns[static_cast<std::size_t>(placeOf(series, index)) % patterns.size()];
}

QPen linePen(const ChartSeries& series, const SeriesLook& look)
{
    const Qt::PenStyle style = series.style == SeriesStyle::Dashed ? Qt::DashLine : Qt::SolidLine;
    QPen pen(look.color, look.isHairline ? 1 : look.lineWidth, style, Qt::FlatCap, Qt::RoundJoin);
    if (!look.dashes.isEmpty())
        pen.setDashPattern(look.dashes);
    pen.setCosmetic(look.isHairline);
    return pen;
}

double barWidth(const ChartSeries& series, const ChartLook& look)
{
    double spacing = std::numeric_limits<double>::infinity();
    for (qsizetype i = 1; i < series.points.size(); ++i) {
        const double step =
            shownPoint(series.points[i], look).x() - shownPoint(series.points[i - 1], look).x();
        if (step > 0)
            spacing = std::min(spacing, step);
    }
    return 0.8 * spacing;
}

void paintChartErrors(QPainter& painter, const ChartFrame& frame, const std::vector<ChartSeries>& series)
{
    constexpr double cap = 2; // device units to either side
    painter.save();
    for (std::size_t s = 0; s < series.size(); ++s) {
        if (series[s].hasBand) {
            paintBand(painter, frame, series[s], seriesColor(placeOf(series, s), frame.colors));
            continue;
        }
        painter.setPen(QPen(seriesColor(placeOf(series, s), frame.colors), frame.hairline));
        for (std::size_t i = 0; i < series[s].errors.size(); ++i) {
            const QPointF given = series[s].points[static_cast<qsizetype>(i)];
            const double error = double{series[s].errors[i]};
            const QPointF top = frame.map(shownPoint(given + QPointF(0, error), frame.look));
            QPointF foot = frame.map(shownPoint(given - QPointF(0, error), frame.look));
            if (std::isnan(foot.y()))
                foot = {top.x(), frame.plot.bottom()};
            const double high = std::max(top.y(), frame.plot.top());
            const double low = std::min(foot.y(), frame.plot.bottom());
            if (!(high < low) || top.x() < frame.plot.left() || top.x() > frame.plot.right())
                continue;
            painter.drawLine(QPointF(top.x(), high), QPointF(top.x(), low));
            for (const double end : {high, low})
                painter.drawLine(QPointF(top.x() - cap, end), QPointF(top.x() + cap, end));
        }
    }
    painter.restore();
}

void paintChartBrackets(QPainter& painter, const ChartFrame& frame, const std::vector<ChartBracket>& brackets)
{
    painter.save();
    painter.setPen(QPen(frame.colors.warning, 1.5 * frame.hairline));
    constexpr double above = 4; // the points
    for (const ChartBracket& bracket : brackets) {
        const QPointF left = frame.map(shownPoint({bracket.from, bracket.y}, frame.look));
        const double right = frame.map(shownPoint({bracket.to, bracket.y}, frame.look)).x();
        if (std::isnan(left.y())) // zeros, on a log axis
            continue;
        const double y = std::max(left.y() - above, frame.plot.top() + 1);
        if (right < frame.plot.left() || left.x() > frame.plot.right() || y > frame.plot.bottom())
            continue;
        const std::array<QPointF, 4> line{QPointF(left.x(), y + above / 2), QPointF(left.x(), y),
                                          QPointF(right, y), QPointF(right, y + above / 2)};
        painter.drawPolyline(line.data(), static_cast<int>(line.size()));
    }
    painter.restore();
}

void paintMarker(QPainter& painter, const QPointF& at, int shape, double size)
{
    const double r = size / 2;
    const auto polygon = [&](std::initializer_list<QPointF> corners) {
        QPolygonF moved;
        for (const QPointF& corner : corners)
            moved << at + r * corner;
        painter.drawPolygon(moved);
    };
    switch (shape % 8) {
    case 0: return painter.drawEllipse(at, r, r);
    case 1: return painter.drawRect(QRectF(at.x() - 0.85 * r, at.y() - 0.85 * r, 1.7 * r, 1.7 * r));
    case 2: return polygon({{0, -1.2}, {1.2, 0}, {0, 1.2}, {-1.2, 0}});
    case 3: return polygon({{0, -1.1}, {1.1, 0.9}, {-1.1, 0.9}});
    case 4: return polygon({{0, 1.1}, {1.1, -0.9}, {-1.1, -0.9}});
    case 5: // a plus
        return polygon({{-0.4, -1.1},
                        {0.4, -1.1},
                        {0.4, -0.4},
                        {1.1, -0.4},
                        {1.1, 0.4},
                        {0.4, 0.4},
                        {0.4, 1.1},
                        {-0.4, 1.1},
                        {-0.4, 0.4},
                        {-1.1, 0.4},
                        {-1.1, -0.4},
                        {-0.4, -0.4}});
    case 6: return polygon({{-1.1, -1.1}, {1.1, -1.1}, {-1.1, 1.1}, {1.1, 1.1}}); // an hourglass
    default: return polygon({{-1.2, -0.6}, {1.2, -0.6}, {1.2, 0.6}, {-1.2, 0.6}});
    }
}

void paintChartSeries(QPainter& painter, const ChartFrame& frame, const ChartSeries& series,
                      const SeriesLook& look)
{
    painter.save();
    if (series.style >= SeriesStyle::Points) {
        if (series.style == SeriesStyle::Bars)
            paintBars(painter, frame, series, look);
        else if (series.style == SeriesStyle::Boxes)
            paintBoxes(painter, frame, series, look);
        else
            paintPoints(painter, frame, series, look);
        return painter.restore();
    }
    painter.setPen(linePen(series, look));
    painter.setBrush(Qt::NoBrush);
    QPolygonF run; // connected points inside the plot; clipping ends a run
    const auto flush = [&] {
        if (run.size() > 1)
            painter.drawPolyline(run);
        run.clear();
    };
    QPointF previous(std::numeric_limits<double>::quiet_NaN(), 0);
    for (const QPointF& given : series.points) {
        const QPointF at = frame.map(shownPoint(given, frame.look));
        if (std::isnan(at.x()))
            continue; // Skipped and counted; the line continues at the next point that can be shown.
        QPointF from = previous;
        QPointF to = at;
        if (!std::isnan(previous.x()) && clip(from, to, frame.plot)) {
            if (run.isEmpty() || from != previous) {
                flush();
                run << from;
            }
            run << to;
            if (to != at)
                flush();
        }
        previous = at;
    }
    flush();
    painter.restore();
}

} // namespace headwise::ui
