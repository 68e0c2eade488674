#include "ui/views/chart_painter.h"

#include "ui/views/ticks.h"

#include <QFontMetricsF>
#include <QPainter>
#include <QPolygonF>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

namespace headwise::ui {

namespace {

constexpr double gap = 4;

bool isLog(const ChartLook& look)
{
    return look.yScale == ChartLook::Scale::Log;
}

struct Tick {
    double at; // As shown.
    QString text;
};

std::vector<Tick> linearTicks(double low, double high, double length, double room)
{
    const std::vector<double> values = roundTicks(low, high, std::max(2, static_cast<int>(length / room)));
    const double spacing = values.size() > 1 ? values[1] - values[0] : high - low;
    std::vector<Tick> ticks;
    for (const double value : values)
        ticks.push_back({value, tickText(value, spacing)});
    return ticks;
}

std::vector<Tick> verticalTicks(const ChartFrame& frame, const QFontMetricsF& metrics)
{
    const double room = 2.2 * metrics.height();
    const double low = frame.range.top();
    const double high = frame.range.bottom();
    if (!isLog(frame.look))
        return linearTicks(low, high, frame.plot.height(), room);
    std::vector<Tick> ticks;
    for (const double value : decadeTicks(std::pow(10, low), std::pow(10, high),
                                          std::max(2, static_cast<int>(frame.plot.height() / room))))
        ticks.push_back({std::log10(value), decadeText(value)});
    if (ticks.size() >= 2)
        return ticks;
    ticks.clear();
    for (const Tick& tick : linearTicks(std::pow(10, low), std::pow(10, high), frame.plot.height(), room))
        if (tick.at > 0)
            ticks.push_back({std::log10(tick.at), tick.text});
    return ticks;
}

// Liang and Barsky 1984: the part of a segment inside a rectangle. Own clipping, because SVG output knows none.
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

void paintComplexPlane(QPainter& painter, const ChartFrame& frame)
{
    const QPointF origin = frame.map({0, 0});
    ChartSeries circle{.name = {}, .points = {}, .style = SeriesStyle::Dashed};
    for (int degrees = 0; degrees <= 360; ++degrees) {
        const double angle = degrees * std::numbers::pi / 180;
        circle.points << QPointF(std::cos(angle), std::sin(angle));
    }
    paintChartSeries(painter, frame, circle, frame.colors.muted, 0, frame.hairline);
    painter.setPen(QPen(frame.colors.border, frame.hairline));
    if (frame.plot.top() < origin.y() && origin.y() < frame.plot.bottom())
        painter.drawLine(QPointF(frame.plot.left(), origin.y()), QPointF(frame.plot.right(), origin.y()));
    if (frame.plot.left() < origin.x() && origin.x() < frame.plot.right())
        painter.drawLine(QPointF(origin.x(), frame.plot.top()), QPointF(origin.x(), frame.plot.bottom()));
}

} // namespace

QPointF ChartFrame::map(const QPointF& point) const
{
    return {plot.left() + (point.x() - range.left()) / range.width() * plot.width(),
            plot.bottom() - (point.y() - range.top()) / range.height() * plot.height()};
}

QPointF ChartFrame::unmap(const QPointF& position) const
{
    return {range.left() + (position.x() - plot.left()) / plot.width() * range.width(),
            range.top() + (plot.bottom() - position.y()) / plot.height() * range.height()};
}

QMarginsF chartMargins(const ChartLook& look, const QFont& font, const QPaintDevice* device)
{
    const QFontMetricsF metrics(font, device);
    const double title = metrics.height() + gap;
    const double labels = metrics.horizontalAdvance(QStringLiteral("−0.000")) + 2 * gap;
    return {labels + (look.yTitle.isEmpty() ? 0 : title), metrics.height() / 2 + gap,
            gap + metrics.height() / 2, metrics.height() + 2 * gap + (look.xTitle.isEmpty() ? 0 : title)};
}

QRectF equalUnits(const ChartFrame& frame)
{
    if (frame.look.plane != ChartLook::Plane::Complex || frame.plot.isEmpty())
        return frame.range;
    const double unit =
        std::max(frame.range.width() / frame.plot.width(), frame.range.height() / frame.plot.height());
    QRectF range(0, 0, unit * frame.plot.width(), unit * frame.plot.height());
    range.moveCenter(frame.range.center());
    return range;
}

QPointF shownPoint(const QPointF& point, const ChartLook& look)
{
    const double nan = std::numeric_limits<double>::quiet_NaN();
    if (!std::isfinite(point.x()) || !std::isfinite(point.y()) || (isLog(look) && point.y() <= 0))
        return {nan, nan};
    return {point.x(), isLog(look) ? std::log10(point.y()) : point.y()};
}

QColor seriesColor(int index, const ThemeColors& colors)
{
    return colors.categorical[static_cast<std::size_t>(index) % colors.categorical.size()];
}

void paintChartAxes(QPainter& painter, const ChartFrame& frame)
{
    painter.save();
    painter.setFont(frame.font);
    const QFontMetricsF metrics(frame.font, painter.device());
    const QRectF& plot = frame.plot;
    QColor grid = frame.colors.muted;
    grid.setAlphaF(0.25F);
    for (const Tick& tick : verticalTicks(frame, metrics)) {
        const double y = frame.map({0, tick.at}).y();
        painter.setPen(QPen(grid, frame.hairline));
        painter.drawLine(QPointF(plot.left(), y), QPointF(plot.right(), y));
        painter.setPen(frame.colors.muted);
        painter.drawText(QPointF(plot.left() - gap - metrics.horizontalAdvance(tick.text),
                                 y + (metrics.ascent() - metrics.descent()) / 2),
                         tick.text);
    }
    const double room = 2.5 * metrics.horizontalAdvance(QStringLiteral("0.00"));
    for (const Tick& tick : linearTicks(frame.range.left(), frame.range.right(), plot.width(), room)) {
        const double x = frame.map({tick.at, 0}).x();
        painter.drawText(
            QPointF(x - metrics.horizontalAdvance(tick.text) / 2, plot.bottom() + gap + metrics.ascent()),
            tick.text);
    }
    if (frame.look.plane == ChartLook::Plane::Complex)
        paintComplexPlane(painter, frame);
    painter.setPen(frame.colors.muted);
    painter.drawText(QPointF(plot.center().x() - metrics.horizontalAdvance(frame.look.xTitle) / 2,
                             plot.bottom() + 2 * gap + metrics.height() + metrics.ascent()),
                     frame.look.xTitle);
    painter.translate(plot.left() - chartMargins(frame.look, frame.font, painter.device()).left()
                          + metrics.ascent(),
                      plot.center().y() + metrics.horizontalAdvance(frame.look.yTitle) / 2);
    painter.rotate(-90);
    painter.drawText(QPointF(0, 0), frame.look.yTitle);
    painter.restore();
}

void paintChartBaselines(QPainter& painter, const ChartFrame& frame,
                         const std::vector<ChartBaseline>& baselines)
{
    painter.save();
    painter.setFont(frame.font);
    painter.setPen(QPen(frame.colors.muted, frame.hairline, Qt::DashLine));
    const QFontMetricsF metrics(frame.font, painter.device());
    for (const ChartBaseline& baseline : baselines) {
        const double y = frame.map(shownPoint({0, baseline.y}, frame.look)).y();
        if (!(frame.plot.top() <= y && y <= frame.plot.bottom()))
            continue;
        painter.drawLine(QPointF(frame.plot.left(), y), QPointF(frame.plot.right(), y));
        const double above = y - metrics.descent() - 2;
        const bool fits = above - metrics.ascent() > frame.plot.top();
        painter.drawText(QPointF(frame.plot.left() + gap, fits ? above : y + metrics.ascent() + 2),
                         baseline.name);
    }
    painter.restore();
}

void paintMarker(QPainter& painter, const QPointF& at, int shape, double size)
{
    const double r = size / 2;
    switch (shape % 4) {
    case 0: return painter.drawEllipse(at, r, r);
    case 1: return painter.drawRect(QRectF(at.x() - 0.85 * r, at.y() - 0.85 * r, 1.7 * r, 1.7 * r));
    case 2:
        return painter.drawPolygon(QPolygonF({at + QPointF(0, -1.2 * r), at + QPointF(1.2 * r, 0),
                                              at + QPointF(0, 1.2 * r), at + QPointF(-1.2 * r, 0)}));
    default:
        return painter.drawPolygon(QPolygonF(
            {at + QPointF(0, -1.1 * r), at + QPointF(1.1 * r, 0.9 * r), at + QPointF(-1.1 * r, 0.9 * r)}));
    }
}

void paintChartSeries(QPainter& painter, const ChartFrame& frame, const ChartSeries& series,
                      const QColor& color, int shape, double lineWidth)
{
    painter.save();
    const bool points = series.style == SeriesStyle::Points;
    const Qt::PenStyle pen = series.style == SeriesStyle::Dashed ? Qt::DashLine : Qt::SolidLine;
    painter.setPen(points ? QPen(Qt::NoPen) : QPen(color, lineWidth, pen, Qt::FlatCap, Qt::RoundJoin));
    QColor fill = color;
    fill.setAlphaF(0.8F);
    painter.setBrush(points ? QBrush(fill) : Qt::NoBrush);
    QPolygonF run; // Connected and inside; a cut ends it.
    const auto flush = [&] {
        if (run.size() > 1)
            painter.drawPolyline(run);
        run.clear();
    };
    QPointF previous(std::numeric_limits<double>::quiet_NaN(), 0);
    for (const QPointF& given : series.points) {
        const QPointF at = frame.map(shownPoint(given, frame.look));
        if (points && frame.plot.contains(at))
            paintMarker(painter, at, shape, 3 * lineWidth + 1);
        if (points || std::isnan(at.x()))
            continue; // Left out and counted; the line goes on to the next point that can be shown.
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

void paintChartLegend(QPainter& painter, const ChartFrame& frame, const std::vector<ChartSeries>& series)
{
    painter.save();
    painter.setFont(frame.font);
    const QFontMetricsF metrics(frame.font, painter.device());
    double y = frame.plot.top() + gap + metrics.ascent();
    for (std::size_t i = 0; i < series.size(); ++i) {
        if (series[i].name.isEmpty())
            continue;
        const int index = static_cast<int>(i);
        const double x = frame.plot.right() - gap - metrics.horizontalAdvance(series[i].name);
        const QColor color = seriesColor(index, frame.colors);
        const double middle = y - metrics.ascent() / 2 + metrics.descent() / 4;
        painter.setPen(QPen(color, 1.5 * frame.hairline,
                            series[i].style == SeriesStyle::Dashed ? Qt::DashLine : Qt::SolidLine));
        painter.setBrush(color);
        if (series[i].style == SeriesStyle::Points)
            paintMarker(painter, {x - 10, middle}, index, 5);
        else
            painter.drawLine(QPointF(x - 18, middle), QPointF(x - 5, middle));
        painter.setPen(color);
        painter.drawText(QPointF(x, y), series[i].name);
        y += metrics.height();
    }
    painter.restore();
}

void paintChartNote(QPainter& painter, const ChartFrame& frame, const QString& note)
{
    painter.save();
    painter.setFont(frame.font);
    painter.setPen(frame.colors.muted);
    const QFontMetricsF metrics(frame.font, painter.device());
    painter.drawText(QPointF(frame.plot.left() + gap, frame.plot.bottom() - gap - metrics.descent()), note);
    painter.restore();
}

} // namespace headwise::ui
