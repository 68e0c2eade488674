#include "ui/heatmaps/color_bar.h"

#include "ui/base/text.h"
#include "ui/heatmaps/color_bar_menu.h"
#include "ui/heatmaps/color_vision_effect.h"
#include "ui/heatmaps/heatmap_view.h"
#include "ui/heatmaps/limits_dialog.h"

#include <QContextMenuEvent>
#include <QKeyEvent>
#include <QMenu>
#include <QMouseEvent>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace headwise::ui {

namespace {

constexpr double grip = 10; // px around an end in which a drag moves it
constexpr double endRoom = 8;
constexpr int histogramParts = 48;

} // namespace

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

void ColorBar::follow(HeatmapView* view)
{
    m_view = view;
    connect(view, &QObject::destroyed, this, [this] { m_view = nullptr; });
    setScale(view->colors()->scale());
    connect(view->colors(), &HeatmapColors::scaleChanged, this, &ColorBar::setScale);
    connect(this, &ColorBar::scaleChanged, view->colors(), &HeatmapColors::setScale);
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
        return m_view->colors()->toggleLock();
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
        return m_view->colors()->centerOnZero();
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
    return m_orientation == Qt::Vertical ? QSize(static_cast<int>(std::ceil(extent)) + 4, 160)
                                         : QSize(160, static_cast<int>(std::ceil(extent)) + 2);
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
    const QRectF cells = m_isAlongCells && m_view ? m_view->cells().area() : QRectF();
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
    if (m_orientation == Qt::Vertical)
        return extent().adjusted(2, endRoom, -1, -endRoom);
    return extent().adjusted(endRoom, 1, -endRoom, 0);
}

void ColorBar::setAtEnd(bool on)
{
    if (on == m_isAtEnd)
        return;
    m_isAtEnd = on;
    update();
}

void ColorBar::paintEvent(QPaintEvent* /*event*/)
{
    if (m_view && m_view->isEmpty())
        return; // There is nothing whose colours it would explain.
    QPainter painter(this);
    const ThemeColors& colors = themeColors(palette());
    painter.setFont(secondaryFont());
    if (m_view && isEdited())
        paintColorBarHistogram(painter, bar(),
                               sharesOnBar(m_view->content()->statistics().sample, m_scale, histogramParts),
                               m_orientation, colors.accent);
    paintColorBar(painter, bar(), shownScale(), m_orientation, colors);
    const QRectF area = bar();
    const QRectF body = m_orientation == Qt::Vertical
        ? QRectF(area.left(), area.top(), colorBarThickness, area.height())
        : QRectF(area.left(), area.top(), area.width(), colorBarThickness);
    if (hasFocus()) {
        painter.setPen(QPen(colors.accent, 1));
        painter.drawRect(body.adjusted(-1, -1, 1, 1));
    }
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

void ColorBar::askLimits()
{
    auto* dialog = new LimitsDialog(m_scale.low, m_scale.high, this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &LimitsDialog::limitsChosen, this, &ColorBar::setLimits);
    dialog->open();
}

void ColorBar::contextMenuEvent(QContextMenuEvent* event)
{
    makeColorBarMenu(this)->popup(event->globalPos());
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
