#include "ui/heatmaps/color_bar.h"

#include "core/results/color_maps.h"
#include "ui/base/text.h"
#include "ui/heatmaps/color_vision_effect.h"
#include "ui/heatmaps/heatmap_view.h"
#include "ui/widgets/ticks.h"

#include <QFontMetricsF>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace headwise::ui {

namespace {

constexpr double thickness = 12;
constexpr double tickLength = 4;
constexpr double grip = 10; // px around an end in which a drag moves it
constexpr double endRoom = 8;
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

/// Paints the out-of-range colours at both ends, if the fit may exclude values.
void paintCaps(QPainter& painter, const QRectF& bar, const ColorScale& scale, Qt::Orientation orientation)
{
    if (!hasCaps(scale))
        return;
    const BeyondColors beyond = beyondColors(scale);
    const auto cap = [&](const QPointF& from, const QPointF& to, const QPointF& tip, Rgb color) {
        painter.setBrush(QColor::fromRgb(color));
        painter.drawPolygon(QPolygonF({from, to, tip}));
    };
    painter.setPen(Qt::NoPen);
    const QPointF middle = bar.center();
    if (orientation == Qt::Vertical) {
        cap(bar.topLeft(), bar.topRight(), {middle.x(), bar.top() - capLength}, beyond.high);
        cap(bar.bottomLeft(), bar.bottomRight(), {middle.x(), bar.bottom() + capLength}, beyond.low);
    } else {
        cap(bar.topLeft(), bar.bottomLeft(), {bar.left() - capLength, middle.y()}, beyond.low);
        cap(bar.topRight(), bar.bottomRight(), {bar.right() + capLength, middle.y()}, beyond.high);
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
        return thickness + tickLength + 2 + metrics.height();
    double widest = metrics.horizontalAdvance(QStringLiteral("−0.000"));
    for (const ColorBarTick& tick : colorBarTicksOf(scale, 8))
        widest = std::max(widest, metrics.horizontalAdvance(tick.text));
    return thickness + tickLength + 4 + widest;
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
    const QRectF bar = upright ? QRectF(area.left(), area.top(), thickness, area.height())
                               : QRectF(area.left(), area.top(), area.width(), thickness);
    paintColors(painter, bar, scale, orientation);
    paintCaps(painter, bar, scale, orientation);
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(colors.border, lineWidth));
    painter.drawRect(bar);
    const double length = upright ? bar.height() : bar.width();
    const double room =
        upright ? 1.8 * metrics.height() : metrics.horizontalAdvance(QStringLiteral("−0.000")) * 1.5;
    for (const ColorBarTick& tick : colorBarTicksOf(scale, std::max(1, static_cast<int>(length / room)))) {
        const double at = position(static_cast<float>(tick.value), scale) * length;
        painter.setPen(QPen(tick.value == 0 ? colors.text : colors.muted, lineWidth));
        if (upright) {
            const double y = bar.bottom() - at;
            painter.drawLine(QPointF(tick.value == 0 ? bar.left() : bar.right(), y),
                             QPointF(bar.right() + tickLength, y));
            const double baseline =
                std::clamp(y + (metrics.ascent() - metrics.descent()) / 2,
                           area.top() + metrics.ascent() - metrics.descent(), area.bottom());
            painter.drawText(QPointF(bar.right() + tickLength + 3, baseline), tick.text);
        } else {
            const double x = bar.left() + at;
            painter.drawLine(QPointF(x, tick.value == 0 ? bar.top() : bar.bottom()),
                             QPointF(x, bar.bottom() + tickLength));
            const double width = metrics.horizontalAdvance(tick.text);
            const double left =
                std::clamp(x - width / 2, area.left(), std::max(area.left(), area.right() - width));
            painter.drawText(QPointF(left, bar.bottom() + tickLength + 1 + metrics.ascent()), tick.text);
        }
    }
    painter.restore();
}

ColorBar::ColorBar(Qt::Orientation orientation, QWidget* parent)
    : QWidget(parent)
    , m_orientation(orientation)
{
    followShownVision(this);
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
    setSizePolicy(orientation == Qt::Vertical ? QSizePolicy::Fixed : QSizePolicy::Expanding,
                  orientation == Qt::Vertical ? QSizePolicy::Expanding : QSizePolicy::Fixed);
    setAccessibleName(tr("Colour scale"));
    setToolTip(tr(
        "Drag an end to change the limit; double-click fits the data; right-click for maps and exact limits"));
}

void ColorBar::setScale(const ColorScale& scale)
{
    if (scale == m_scale)
        return;
    m_scale = scale;
    setAccessibleDescription(tr("%1 to %2").arg(number(double{scale.low}), number(double{scale.high})));
    updateGeometry();
    update();
}

void ColorBar::setTitle(const QString& title)
{
    m_title = title;
    updateGeometry();
    update();
}

void ColorBar::follow(HeatmapView* view)
{
    m_view = view;
    connect(view, &QObject::destroyed, this, [this] { m_view = nullptr; });
    setScale(view->colorScale());
    connect(view, &HeatmapView::colorScaleChanged, this, &ColorBar::setScale);
    connect(this, &ColorBar::scaleChanged, view, &HeatmapView::setColorScale);
}

// Without a heatmap the bar changes by itself; a heatmap first fits the limits to its matrix.
void ColorBar::change(const ColorScale& scale)
{
    if (scale == m_scale)
        return;
    setScale(scale);
    emit scaleChanged(scale);
}

void ColorBar::invert()
{
    ColorScale scale = m_scale;
    scale.inverted = !scale.inverted;
    change(scale);
}

void ColorBar::toggleLock()
{
    if (m_view)
        return m_view->toggleLock();
    setFit(m_scale.fit == ColorFit::Fixed ? ColorFit::Full : ColorFit::Fixed);
}

void ColorBar::setFit(ColorFit fit)
{
    ColorScale scale = m_scale;
    scale.fit = fit;
    change(scale);
}

void ColorBar::setLimits(float low, float high)
{
    ColorScale scale = m_scale;
    scale.fit = ColorFit::Fixed;
    scale.low = low;
    scale.high = high;
    change(scale);
}

void ColorBar::setPercentile(double percentile)
{
    ColorScale scale = m_scale;
    scale.fit = ColorFit::Percentiles;
    scale.percentile = static_cast<float>(percentile);
    change(scale);
}

void ColorBar::setTransform(ColorTransform transform)
{
    ColorScale scale = m_scale;
    scale.transform = transform;
    change(scale);
}

void ColorBar::centerOnZero()
{
    if (m_view)
        return m_view->centerOnZero();
    ColorScale scale = m_scale;
    scale.fit = ColorFit::Full;
    if (!isSigned(scale.map))
        scale.map = ColorMap::Signed;
    change(scale);
}

void ColorBar::setMap(ColorMap map)
{
    ColorScale scale = m_scale;
    scale.map = map;
    change(scale);
}

ColorScale ColorBar::shownScale() const
{
    ColorScale scale = m_scale;
    if (themeColors(palette()).dark)
        scale.map = darkTwin(scale.map);
    return scale;
}

QSize ColorBar::sizeHint() const
{
    const double extent = colorBarExtent(m_scale, m_orientation, secondaryFont(), this);
    const double title = m_title.isEmpty() ? 0 : QFontMetricsF(secondaryFont(), this).height() + 4;
    return m_orientation == Qt::Vertical ? QSize(static_cast<int>(std::ceil(extent)) + 4, 160)
                                         : QSize(160, static_cast<int>(std::ceil(extent + title)) + 2);
}

void ColorBar::setAlongCells(bool on)
{
    m_isAlongCells = on;
    update();
}

QRectF ColorBar::extent() const
{
    constexpr double shortest = 120; // still readable
    QRectF whole(rect());
    const QRectF cells = m_isAlongCells && m_view ? m_view->cellsArea() : QRectF();
    if (cells.isEmpty())
        return whole;
    if (m_orientation == Qt::Vertical) {
        whole.setTop(std::max(whole.top(), cells.top() - endRoom));
        whole.setBottom(std::min(whole.bottom(), std::max(cells.bottom() + endRoom, whole.top() + shortest)));
    } else {
        whole.setLeft(std::max(whole.left(), cells.left() - endRoom));
        whole.setRight(std::min(whole.right(), std::max(cells.right() + endRoom, whole.left() + shortest)));
    }
    return whole;
}

QRectF ColorBar::bar() const
{
    const double title = m_title.isEmpty() ? 0 : QFontMetricsF(secondaryFont(), this).height() + 4;
    if (m_orientation == Qt::Vertical)
        return extent().adjusted(2, endRoom + title, -1, -endRoom);
    return extent().adjusted(endRoom, title + 1, -endRoom, 0);
}

void ColorBar::setAtEnd(bool on)
{
    if (on == m_isAtEnd)
        return;
    m_isAtEnd = on;
    update();
}

void ColorBar::paintHistogram(QPainter& painter, const QRectF& area) const
{
    constexpr int parts = 48;
    const std::vector<double> shares =
        m_view ? sharesOnBar(m_view->statistics().sample, m_scale, parts) : std::vector<double>();
    const double largest = shares.empty() ? 0 : *std::max_element(shares.begin(), shares.end());
    if (largest == 0)
        return;
    const bool upright = m_orientation == Qt::Vertical;
    const double room = (upright ? area.width() : area.height()) - thickness;
    const double step = (upright ? area.height() : area.width()) / parts;
    const QColor line = themeColors(palette()).accent;
    QColor ground = line;
    ground.setAlphaF(0.12F); // The ticks' numbers are drawn on it.
    for (int i = 0; i < parts; ++i) {
        const double length = shares[static_cast<std::size_t>(i)] / largest * room;
        const QRectF part = upright
            ? QRectF(area.left() + thickness, area.bottom() - (i + 1) * step, length, step)
            : QRectF(area.left() + i * step, area.top() + thickness, step, length);
        painter.fillRect(part, ground);
        painter.fillRect(upright ? QRectF(part.right() - 1, part.top(), 1, step)
                                 : QRectF(part.left(), part.bottom() - 1, step, 1),
                         line);
    }
}

void ColorBar::paintEvent(QPaintEvent* /*event*/)
{
    QPainter painter(this);
    const ThemeColors& colors = themeColors(palette());
    painter.setFont(secondaryFont());
    if (isEdited())
        paintHistogram(painter, bar());
    paintColorBar(painter, bar(), shownScale(), m_orientation, colors);
    const QRectF area = bar();
    const QRectF body = m_orientation == Qt::Vertical
        ? QRectF(area.left(), area.top(), thickness, area.height())
        : QRectF(area.left(), area.top(), area.width(), thickness);
    if (hasFocus()) {
        painter.setPen(QPen(colors.accent, 1));
        painter.drawRect(body.adjusted(-1, -1, 1, 1));
    }
    painter.setFont(secondaryFont());
    painter.setPen(colors.muted);
    const QString lock = m_scale.fit == ColorFit::Fixed ? tr("%1 (locked)").arg(m_title) : m_title;
    if (!m_title.isEmpty())
        painter.drawText(QRectF(area.left(), 0, width() - area.left(), area.top()),
                         Qt::AlignLeft | Qt::AlignTop, lock);
}

double ColorBar::fractionAt(const QPointF& position) const
{
    const QRectF area = bar();
    return m_orientation == Qt::Vertical ? (area.bottom() - position.y()) / area.height()
                                         : (position.x() - area.left()) / area.width();
}

std::optional<ColorBar::End> ColorBar::endAt(const QPointF& position) const
{
    const double length = m_orientation == Qt::Vertical ? bar().height() : bar().width();
    const double at = fractionAt(position) * length;
    if (std::abs(at) <= grip)
        return End::Low;
    if (std::abs(at - length) <= grip)
        return End::High;
    return std::nullopt;
}

void ColorBar::mousePressEvent(QMouseEvent* event)
{
    if (event->button() != Qt::LeftButton)
        return;
    m_dragged = endAt(event->position());
    m_atPress = m_scale;
}

void ColorBar::mouseMoveEvent(QMouseEvent* event)
{
    const Qt::CursorShape along = m_orientation == Qt::Vertical ? Qt::SizeVerCursor : Qt::SizeHorCursor;
    setAtEnd(endAt(event->position()).has_value());
    setCursor(isEdited() ? along : Qt::ArrowCursor);
    if (!m_dragged)
        return;
    ColorScale scale = m_atPress;
    scale.fit = ColorFit::Fixed;
    const double width = double{m_atPress.high} - double{m_atPress.low};
    const double value = m_atPress.low + fractionAt(event->position()) * width;
    const double least = 1e-3 * width;
    if (isSigned(scale.map) && m_atPress.low == -m_atPress.high) {
        scale.high = static_cast<float>(std::max(least, *m_dragged == End::High ? value : -value));
        scale.low = -scale.high;
    } else if (*m_dragged == End::High) {
        scale.high = static_cast<float>(std::max(value, m_atPress.low + least));
    } else {
        scale.low = static_cast<float>(std::min(value, m_atPress.high - least));
    }
    change(scale);
}

void ColorBar::mouseReleaseEvent(QMouseEvent* /*event*/)
{
    m_dragged.reset();
    update();
}

void ColorBar::leaveEvent(QEvent* event)
{
    setAtEnd(false);
    QWidget::leaveEvent(event);
}

void ColorBar::mouseDoubleClickEvent(QMouseEvent* event)
{
    if (event->button() == Qt::LeftButton)
        setFit(ColorFit::Full);
}

void ColorBar::keyPressEvent(QKeyEvent* event)
{
    switch (event->key()) {
    case Qt::Key_I: return invert();
    case Qt::Key_L: return toggleLock();
    case Qt::Key_Z: return centerOnZero();
    case Qt::Key_Return:
    case Qt::Key_Enter: return askLimits();
    default: QWidget::keyPressEvent(event);
    }
}

} // namespace headwise::ui
