#include "ui/heatmaps/color_bar_painter.h"

#include "core/results/color_maps.h"
#include "ui/base/text.h"
#include "ui/heatmaps/color_bar.h"
#include "ui/widgets/ticks.h"

#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace headwise::ui {

namespace {

constexpr double tickLength = 4;
constexpr double capLength = 6;

struct ColorBarTick {
    double value;
    QString text;
};

// Returns the limits, and round values between them that do not collide with a limit.
std::vector<ColorBarTick> colorBarTicksOf(const ColorScale& scale, int atMost)
{
    const double low = scale.low;
    const double high = scale.high;
    std::vector<ColorBarTick> ticks{{low, number(low)}, {high, number(high)}};
    std::vector<double> inner =
        scale.transform == ColorTransform::Linear ? roundTicks(low, high, atMost) : std::vector<double>{0};
    if (scale.transform == ColorTransform::Rank)
        inner = {headwise::valueAt(0.25F, scale), headwise::valueAt(0.5F, scale),
                 headwise::valueAt(0.75F, scale)};
    else if (scale.transform != ColorTransform::Linear)
        for (const double decade : {1e-2, 1e-1})
            for (const double limit : {low, high})
                inner.push_back(limit * decade);
    const double spacing = inner.size() > 1 ? std::abs(inner[1] - inner[0]) : high - low;
    for (const double value : inner) {
        const double at = position(static_cast<float>(value), scale);
        if (low < value && value < high && at > 0.8 / atMost && at < 1 - 0.8 / atMost)
            ticks.push_back(
                {value,
                 scale.transform == ColorTransform::Linear ? tickText(value, spacing) : number(value)});
    }
    return ticks;
}

/// As many ticks as have room along a bar of that length.
std::vector<ColorBarTick> ticksAlong(const ColorScale& scale, double length, Qt::Orientation orientation,
                                     const QFontMetricsF& metrics)
{
    const double room = orientation == Qt::Vertical
        ? 1.8 * metrics.height()
        : metrics.horizontalAdvance(QStringLiteral("−0.000")) * 1.5;
    return colorBarTicksOf(scale, std::max(1, static_cast<int>(length / room)));
}

double barWidth(const std::vector<ColorBarTick>& ticks, double leastText, const QFontMetricsF& metrics)
{
    double widest = leastText;
    for (const ColorBarTick& tick : ticks)
        widest = std::max(widest, metrics.horizontalAdvance(tick.text));
    return colorBarThickness + tickLength + 4 + widest;
}

void paintColors(QPainter& painter, const QRectF& bar, const ColorScale& scale, Qt::Orientation orientation)
{
    const ColorTable& table = colorTable(scale.map);
    const bool upright = orientation == Qt::Vertical;
    painter.setPen(Qt::NoPen);
    for (int i = 0; i < 256; ++i) {
        // Each slice reaches to the far end, which avoids visible seams.
        const double part = i / 256.0;
        const QRectF slice = upright
            ? QRectF(bar.left(), bar.top(), bar.width(), bar.height() * (1 - part))
            : QRectF(bar.left() + bar.width() * part, bar.top(), bar.width() * (1 - part), bar.height());
        painter.setBrush(QColor::fromRgb(table[static_cast<std::size_t>(scale.inverted ? 255 - i : i)]));
        painter.drawRect(slice);
    }
}

bool hasCaps(const ColorScale& scale)
{
    return scale.fit == ColorFit::Robust || scale.fit == ColorFit::Percentiles;
}

/// Paints outlined tips at both ends, if the fit may exclude values. Out-of-range values have the colours of the ends.
void paintCaps(QPainter& painter, const QRectF& bar, const ColorScale& scale, Qt::Orientation orientation)
{
    if (!hasCaps(scale))
        return;
    const auto cap = [&](const QPointF& from, const QPointF& to, const QPointF& tip, float value) {
        painter.setBrush(QColor::fromRgb(colorOf(value, scale)));
        painter.drawPolygon(QPolygonF({from, to, tip}));
    };
    const QPointF middle = bar.center();
    if (orientation == Qt::Vertical) {
        cap(bar.topLeft(), bar.topRight(), {middle.x(), bar.top() - capLength}, scale.high);
        cap(bar.bottomLeft(), bar.bottomRight(), {middle.x(), bar.bottom() + capLength}, scale.low);
    } else {
        cap(bar.topLeft(), bar.bottomLeft(), {bar.left() - capLength, middle.y()}, scale.low);
        cap(bar.topRight(), bar.bottomRight(), {bar.right() + capLength, middle.y()}, scale.high);
    }
}

} // namespace

QString mapTitle(ColorMap map)
{
    switch (map) {
    case ColorMap::Signed: return ColorBar::tr("Blue to red, zero neutral");
    case ColorMap::SignedDark: return ColorBar::tr("Blue to red, dark centre");
    case ColorMap::Viridis: return ColorBar::tr("Viridis");
    case ColorMap::Cividis: return ColorBar::tr("Cividis");
    case ColorMap::Attention: return ColorBar::tr("Attention");
    case ColorMap::AttentionDark: return ColorBar::tr("Attention, dark ground");
    case ColorMap::Gray: return ColorBar::tr("Grey");
    case ColorMap::HighContrast: return ColorBar::tr("High contrast (inferno)");
    }
    return {};
}

std::vector<double> sharesOnBar(const std::vector<float>& sample, const ColorScale& scale, int parts)
{
    std::vector<double> shares(static_cast<std::size_t>(parts));
    double count = 0;
    for (const float value : sample) {
        if (!std::isfinite(value))
            continue;
        ++count;
        if (value < scale.low || value > scale.high)
            continue;
        const auto part = static_cast<int>(position(value, scale) * static_cast<float>(parts));
        ++shares[static_cast<std::size_t>(std::min(part, parts - 1))];
    }
    for (double& share : shares)
        share /= std::max(1.0, count);
    return shares;
}

double colorBarExtent(const ColorScale& scale, Qt::Orientation orientation, const QFont& font,
                      const QPaintDevice* device)
{
    const QFontMetricsF metrics(font, device);
    if (orientation == Qt::Horizontal)
        return colorBarThickness + tickLength + 2 + metrics.height();
    return barWidth(colorBarTicksOf(scale, 8), metrics.horizontalAdvance(QStringLiteral("−0.000")), metrics);
}

double colorBarWidth(const ColorScale& scale, double length, const QFont& font, const QPaintDevice* device)
{
    const QFontMetricsF metrics(font, device);
    return barWidth(ticksAlong(scale, length, Qt::Vertical, metrics), 0, metrics);
}

double colorBarOverhang(const ColorScale& scale)
{
    return hasCaps(scale) ? capLength : 0;
}

void paintColorBar(QPainter& painter, const QRectF& area, const ColorScale& scale,
                   Qt::Orientation orientation, const ThemeColors& colors)
{
    painter.save();
    const double lineWidth = painter.pen().widthF();
    const QFontMetricsF metrics(painter.font(), painter.device());
    const bool upright = orientation == Qt::Vertical;
    const QRectF bar = upright ? QRectF(area.left(), area.top(), colorBarThickness, area.height())
                               : QRectF(area.left(), area.top(), area.width(), colorBarThickness);
    paintColors(painter, bar, scale, orientation);
    painter.setPen(QPen(colors.muted, lineWidth));
    paintCaps(painter, bar, scale, orientation);
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(colors.border, lineWidth));
    painter.drawRect(bar);
    const double length = upright ? bar.height() : bar.width();
    std::vector<QRectF> written;
    const auto write = [&](const QPointF& at, const QString& text) { // on a short bar not over another number
        const QRectF box(at.x(), at.y() - metrics.ascent(), metrics.horizontalAdvance(text),
                         metrics.ascent());
        const auto covers = [&box](const QRectF& other) { return other.intersects(box); };
        if (std::ranges::any_of(written, covers))
            return;
        written.push_back(box);
        painter.drawText(at, text);
    };
    for (const ColorBarTick& tick : ticksAlong(scale, length, orientation, metrics)) {
        const double at = position(static_cast<float>(tick.value), scale) * length;
        painter.setPen(QPen(tick.value == 0 ? colors.text : colors.muted, lineWidth));
        if (upright) {
            const double y = bar.bottom() - at;
            painter.drawLine(QPointF(tick.value == 0 ? bar.left() : bar.right(), y),
                             QPointF(bar.right() + tickLength, y));
            const double baseline =
                std::clamp(y + (metrics.ascent() - metrics.descent()) / 2,
                           area.top() + metrics.ascent() - metrics.descent(), area.bottom());
            write(QPointF(bar.right() + tickLength + 3, baseline), tick.text);
        } else {
            const double x = bar.left() + at;
            painter.drawLine(QPointF(x, tick.value == 0 ? bar.top() : bar.bottom()),
                             QPointF(x, bar.bottom() + tickLength));
            const double width = metrics.horizontalAdvance(tick.text);
            const double left =
                std::clamp(x - width / 2, area.left(), std::max(area.left(), area.right() - width));
            write(QPointF(left, bar.bottom() + tickLength + 1 + metrics.ascent()), tick.text);
        }
    }
    painter.restore();
}

void paintColorBarHistogram(QPainter& painter, const QRectF& area, const std::vector<double>& shares,
                            Qt::Orientation orientation, const QColor& line)
{
    const double largest = shares.empty() ? 0 : *std::max_element(shares.begin(), shares.end());
    if (largest == 0)
        return;
    const auto parts = static_cast<int>(shares.size());
    const bool upright = orientation == Qt::Vertical;
    const double room = (upright ? area.width() : area.height()) - colorBarThickness;
    const double step = (upright ? area.height() : area.width()) / parts;
    QColor ground = line;
    ground.setAlphaF(0.12F); // The ticks' numbers are drawn on it.
    for (int i = 0; i < parts; ++i) {
        const double length = shares[static_cast<std::size_t>(i)] / largest * room;
        const QRectF part = upright
            ? QRectF(area.left() + colorBarThickness, area.bottom() - (i + 1) * step, length, step)
            : QRectF(area.left() + i * step, area.top() + colorBarThickness, step, length);
        painter.fillRect(part, ground);
        painter.fillRect(upright ? QRectF(part.right() - 1, part.top(), 1, step)
                                 : QRectF(part.left(), part.bottom() - 1, step, 1),
                         line);
    }
}

} // namespace headwise::ui
