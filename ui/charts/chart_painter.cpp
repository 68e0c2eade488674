#include "ui/charts/chart_painter.h"

#include "ui/figures/figure_export_title.h"
#include "ui/figures/math_text.h"
#include "ui/widgets/ticks.h"

#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace headwise::ui {

namespace {

constexpr double chartPainterGap = 4;

constexpr double longestLabel = 120;
constexpr int flatLabels = 8; // Up to this many names fit side by side.

struct ChartPainterTick {
    double at; // In displayed coordinates.
    QString text;
};

std::vector<ChartPainterTick> linearTicks(double low, double high, double length, double room)
{
    const std::vector<double> values = roundTicks(low, high, std::max(3, static_cast<int>(length / room)));
    const double spacing = values.size() > 1 ? values[1] - values[0] : high - low;
    std::vector<ChartPainterTick> ticks;
    ticks.reserve(values.size());
    for (const double value : values)
        ticks.push_back({value, tickText(value, spacing)});
    return ticks;
}

std::vector<ChartPainterTick> chartPainterTicksOf(ChartLook::Scale scale, double low, double high,
                                                  double length, double room)
{
    if (scale == ChartLook::Scale::Linear)
        return linearTicks(low, high, length, room);
    std::vector<ChartPainterTick> ticks;
    for (const double value :
         decadeTicks(std::pow(10, low), std::pow(10, high), std::max(2, static_cast<int>(length / room))))
        ticks.push_back({std::log10(value), decadeText(value)});
    if (ticks.size() >= 2)
        return ticks;
    ticks.clear();
    for (const ChartPainterTick& tick : linearTicks(std::pow(10, low), std::pow(10, high), length, room))
        if (tick.at > 0)
            ticks.push_back({std::log10(tick.at), tick.text});
    return ticks;
}

/// \param isOfCounts  leaves out the ticks between whole numbers
std::vector<ChartPainterTick> linearOrCounts(std::vector<ChartPainterTick> ticks, ChartLook::Scale scale,
                                             bool isOfCounts)
{
    if (!isOfCounts || scale != ChartLook::Scale::Linear)
        return ticks;
    std::erase_if(ticks, [](const ChartPainterTick& tick) { return tick.at != std::round(tick.at); });
    for (ChartPainterTick& tick : ticks)
        tick.text = tickText(tick.at, 1);
    return ticks;
}

double widestName(const ChartLook& look, const QFontMetricsF& metrics)
{
    double widest = 0;
    for (const QString& name : look.xLabels)
        widest = std::max(widest, metrics.horizontalAdvance(name));
    return std::min(widest, longestLabel);
}

bool isUpright(const ChartLook& look)
{
    return look.xLabels.size() > flatLabels;
}

/// Width that a name along x needs at least.
double leastNameRoom(const ChartFrame& frame, const QFontMetricsF& metrics)
{
    if (isUpright(frame.look))
        return metrics.height();
    return widestName(frame.look, metrics) / (frame.isPaper ? 1 : 2); // On paper no name is cut.
}

void paintNames(QPainter& painter, const ChartFrame& frame, const QFontMetricsF& metrics)
{
    const QStringList& names = frame.look.xLabels;
    const double cell = frame.plot.width() / frame.range.width();
    const bool upright = isUpright(frame.look);
    const double room = leastNameRoom(frame, metrics);
    const int step = nameStep(frame, painter.device());
    const double right = frame.plot.right() + chartMargins(frame.look, frame.font, painter.device()).right();
    double taken = -std::numeric_limits<double>::infinity(); // by the name before
    for (int i = 0; i < static_cast<int>(names.size()); i += step) {
        const double x = frame.map({static_cast<double>(i), 0}).x();
        if (x < frame.plot.left() || x > frame.plot.right())
            continue;
        const QString shown = metrics.elidedText(
            names[i], Qt::ElideRight, upright ? longestLabel : std::max(cell - chartPainterGap, room));
        painter.save();
        if (upright) {
            painter.translate(x + (metrics.ascent() - metrics.descent()) / 2,
                              frame.plot.bottom() + chartPainterGap);
            painter.rotate(-90);
            painter.drawText(QPointF(-metrics.horizontalAdvance(shown), 0), shown);
        } else {
            const double width = metrics.horizontalAdvance(shown);
            const double left = std::max(taken, std::min(x - width / 2, right - width));
            painter.drawText(QPointF(left, frame.plot.bottom() + chartPainterGap + metrics.ascent()),
                             metrics.elidedText(shown, Qt::ElideRight, right - left + 0.01));
            taken = left + width + chartPainterGap;
        }
        painter.restore();
    }
}

void paintComplexPlane(QPainter& painter, const ChartFrame& frame)
{
    const QPointF origin = frame.map({0, 0});
    ChartSeries circle{.name = {}, .points = {}, .style = SeriesStyle::Dashed};
    for (int degrees = 0; degrees <= 360; ++degrees) {
        const double angle = degrees * std::numbers::pi / 180;
        circle.points << QPointF(std::cos(angle), std::sin(angle));
    }
    paintChartSeries(painter, frame, circle, {frame.colors.muted, 0, frame.hairline});
    painter.setPen(QPen(frame.colors.border, frame.hairline));
    if (frame.plot.top() < origin.y() && origin.y() < frame.plot.bottom())
        painter.drawLine(QPointF(frame.plot.left(), origin.y()), QPointF(frame.plot.right(), origin.y()));
    if (frame.plot.left() < origin.x() && origin.x() < frame.plot.right())
        painter.drawLine(QPointF(origin.x(), frame.plot.top()), QPointF(origin.x(), frame.plot.bottom()));
}

/// Paints labelled circles at whole decades of the modulus, and rays of the angle.
void paintPolarPlane(QPainter& painter, const ChartFrame& frame, const QFontMetricsF& metrics)
{
    constexpr int rays = 8;
    const QRectF& range = frame.range;
    const double reach = std::max({-range.left(), range.right(), -range.top(), range.bottom()});
    const double inner = frame.look.innerRadius;
    const auto at = [](double radius, double turn) {
        return QPointF(radius * std::cos(2 * std::numbers::pi * turn),
                       radius * std::sin(2 * std::numbers::pi * turn));
    };
    const double outer = std::max(1.0, std::floor(reach + 1e-9));
    for (int i = 0; i < rays; ++i)
        paintChartSeries(painter, frame,
                         {{}, {at(inner, 0), at(inner * std::pow(10, reach), i / double{rays})}},
                         {frame.colors.border, 0, frame.hairline});
    for (int decade = 1; decade <= outer; ++decade) {
        const double radius = inner * std::pow(10, decade);
        ChartSeries circle{.name = {}, .points = {}, .style = SeriesStyle::Dashed};
        const bool isUnit = std::abs(std::log10(radius)) < 1e-6;
        if (!isUnit)
            circle.style = SeriesStyle::Line;
        for (int degrees = 0; degrees <= 360; ++degrees)
            circle.points << at(radius, degrees / 360.0);
        paintChartSeries(painter, frame, circle,
                         {isUnit ? frame.colors.muted : frame.colors.border, 0, frame.hairline});
        const QPointF name = frame.map(shownPoint(at(radius, 0.25), frame.look))
            + QPointF(chartPainterGap, -chartPainterGap / 2);
        painter.setPen(frame.colors.muted);
        if (frame.plot.contains(name))
            painter.drawText(name, decadeText(radius));
    }
    painter.setPen(frame.colors.muted);
    const QPointF origin = frame.map({0, 0});
    const QRectF& plot = frame.plot;
    if (!plot.contains(origin))
        return;
    painter.drawText(
        QPointF(plot.right() - metrics.horizontalAdvance(u'0'), origin.y() - chartPainterGap / 2),
        QStringLiteral("0"));
    painter.drawText(QPointF(plot.left(), origin.y() - chartPainterGap / 2), QStringLiteral("π"));
    painter.drawText(QPointF(origin.x() + chartPainterGap, plot.bottom() - chartPainterGap / 2),
                     QStringLiteral("−π/2"));
}

/// The usual width of the labels of the y axis.
double labelsWidth(const QFontMetricsF& metrics)
{
    return metrics.horizontalAdvance(QStringLiteral("−0.000"));
}

std::vector<ChartPainterTick> ticksUp(const ChartFrame& frame, const QFontMetricsF& metrics)
{
    return linearOrCounts(chartPainterTicksOf(frame.look.yScale, frame.range.top(), frame.range.bottom(),
                                              frame.plot.height(), 2.2 * metrics.height()),
                          frame.look.yScale, frame.look.wholeY);
}

/// Paints labels below the plot, within the page, each that covers none before it.
void paintLabelsBelow(QPainter& painter, const ChartFrame& frame, const QFontMetricsF& metrics)
{
    const double room = 2.5 * metrics.horizontalAdvance(QStringLiteral("0.00"));
    const double right = frame.plot.right() + chartMargins(frame.look, frame.font, painter.device()).right();
    const double edge =
        frame.plot.left() - chartMargins(frame.look, frame.font, painter.device()).left() - frame.labels;
    double taken = -std::numeric_limits<double>::infinity();
    for (const ChartPainterTick& tick :
         linearOrCounts(chartPainterTicksOf(frame.look.xScale, frame.range.left(), frame.range.right(),
                                            frame.plot.width(), room),
                        frame.look.xScale, frame.look.wholeX)) {
        const double width = metrics.horizontalAdvance(tick.text);
        const double left = std::max(edge, std::min(frame.map({tick.at, 0}).x() - width / 2, right - width));
        if (left < taken)
            continue;
        taken = left + width + chartPainterGap;
        painter.drawText(QPointF(left, frame.plot.bottom() + chartPainterGap + metrics.ascent()), tick.text);
    }
}

void paintTicks(QPainter& painter, const ChartFrame& frame, const QFontMetricsF& metrics)
{
    const QRectF& plot = frame.plot;
    double taken = std::numeric_limits<double>::infinity(); // by the label below
    QColor grid = frame.colors.muted;
    grid.setAlphaF(0.25F);
    for (const ChartPainterTick& tick : ticksUp(frame, metrics)) {
        const double y = frame.map({0, tick.at}).y();
        painter.setPen(QPen(grid, frame.hairline));
        painter.drawLine(QPointF(plot.left(), y), QPointF(plot.right(), y));
        if (y + metrics.height() / 2 > taken)
            continue;
        taken = y - metrics.height() / 2;
        painter.setPen(frame.colors.muted);
        painter.drawText(QPointF(plot.left() - chartPainterGap - metrics.horizontalAdvance(tick.text),
                                 y + (metrics.ascent() - metrics.descent()) / 2),
                         tick.text);
    }
    painter.setPen(frame.colors.muted);
    if (frame.look.xLabels.isEmpty())
        paintLabelsBelow(painter, frame, metrics);
    else
        paintNames(painter, frame, metrics);
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
    const double title = metrics.height() + chartPainterGap;
    const double labels = labelsWidth(metrics) + 2 * chartPainterGap;
    const double below =
        !look.xLabels.isEmpty() && isUpright(look) ? widestName(look, metrics) : metrics.height();
    return {labels + (look.yTitle.isEmpty() ? 0 : title), metrics.height() / 2 + chartPainterGap,
            chartPainterGap + metrics.height() / 2,
            below + 2 * chartPainterGap + (look.xTitle.isEmpty() ? 0 : title)};
}

void makeRoomForLabels(ChartFrame& frame, const QPaintDevice* device)
{
    constexpr double most = 0.5; // of the plot's width
    if (frame.look.plane != ChartLook::Plane::Free)
        return;
    const QFontMetricsF metrics(frame.font, device);
    double widest = 0;
    for (const ChartPainterTick& tick : ticksUp(frame, metrics))
        widest = std::max(widest, metrics.horizontalAdvance(tick.text));
    frame.labels = std::min(widest - labelsWidth(metrics), std::max(0.0, most * frame.plot.width()));
    const bool areNamesFlat = !frame.look.xLabels.isEmpty() && !isUpright(frame.look);
    if (!frame.isPaper || areNamesFlat) // the first name needs the room too
        frame.labels = std::max(frame.labels, 0.0);
    frame.plot.adjust(frame.labels, 0, 0, 0);
}

QRectF equalUnits(const ChartFrame& frame)
{
    if (frame.look.plane == ChartLook::Plane::Free || frame.plot.isEmpty())
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
    if (look.plane == ChartLook::Plane::LogPolar) {
        const double radius = std::log10(std::hypot(point.x(), point.y()) / look.innerRadius);
        const double angle = std::atan2(point.y(), point.x());
        return std::isfinite(radius) && radius >= 0
            ? QPointF(radius * std::cos(angle), radius * std::sin(angle))
            : QPointF(nan, nan);
    }
    const bool logX = look.xScale == ChartLook::Scale::Log;
    const bool logY = look.yScale == ChartLook::Scale::Log;
    if (!std::isfinite(point.x()) || !std::isfinite(point.y()) || (logX && point.x() <= 0)
        || (logY && point.y() <= 0))
        return {nan, nan};
    return {logX ? std::log10(point.x()) : point.x(), logY ? std::log10(point.y()) : point.y()};
}

QColor seriesColor(int place, const ThemeColors& colors)
{
    return colors.categorical[static_cast<std::size_t>(place) % colors.categorical.size()];
}

QColor shadeColor(float shade, const ThemeColors& colors)
{
    if (!std::isfinite(shade))
        return colors.muted;
    const QColor& low = colors.categorical[0];
    const QColor& high = colors.categorical[1];
    const auto between = [shade](float from, float to) {
        return from + std::clamp(shade, 0.0F, 1.0F) * (to - from);
    };
    return QColor::fromRgbF(between(low.redF(), high.redF()), between(low.greenF(), high.greenF()),
                            between(low.blueF(), high.blueF()));
}

namespace {

/// The plot with its labels and titles.
QRectF titlesRoom(const ChartFrame& frame, const QPaintDevice* device)
{
    return frame.plot.marginsAdded(chartMargins(frame.look, frame.font, device))
        .adjusted(-frame.labels, 0, 0, 0);
}

} // namespace

int nameStep(const ChartFrame& frame, const QPaintDevice* device)
{
    const double cell = frame.plot.width() / frame.range.width();
    const double room = leastNameRoom(frame, QFontMetricsF(frame.font, device));
    return frame.look.xLabels.isEmpty()
        ? 1
        : std::max(1, static_cast<int>(std::ceil(room / std::max(cell, 1e-9))));
}

bool areTitlesWhole(const ChartFrame& frame, const QPaintDevice* device)
{
    const QRectF all = titlesRoom(frame, device);
    return FittedTitle(frame.look.xTitle, frame.font, all.width(), device).text == frame.look.xTitle
        && FittedTitle(frame.look.yTitle, frame.font, all.height() + frame.legend, device).text
        == frame.look.yTitle;
}

void paintChartAxes(QPainter& painter, const ChartFrame& frame)
{
    painter.save();
    painter.setFont(frame.font);
    const QFontMetricsF metrics(frame.font, painter.device());
    const QRectF& plot = frame.plot;
    if (frame.look.plane == ChartLook::Plane::LogPolar)
        paintPolarPlane(painter, frame, metrics);
    else
        paintTicks(painter, frame, metrics);
    if (frame.look.plane == ChartLook::Plane::Complex)
        paintComplexPlane(painter, frame);
    painter.setPen(frame.colors.muted);
    const QRectF all = titlesRoom(frame, painter.device());
    const FittedTitle x(frame.look.xTitle, frame.font, all.width(), painter.device());
    painter.setFont(x.font);
    drawMath(painter,
             QPointF(x.first(plot.center().x(), all.left(), all.right()),
                     all.bottom() - chartPainterGap - metrics.descent()),
             x.text);
    const FittedTitle y(frame.look.yTitle, frame.font, all.height() + frame.legend, painter.device());
    painter.setFont(y.font);
    painter.translate(all.left() + metrics.ascent(),
                      -y.first(-plot.center().y(), -all.bottom(), frame.legend - all.top()));
    painter.rotate(-90);
    drawMath(painter, QPointF(0, 0), y.text);
    painter.restore();
}

} // namespace headwise::ui
