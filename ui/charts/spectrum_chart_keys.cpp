// Keyboard control of a chart: the keys move from point to point.

#include "ui/charts/spectrum_chart.h"

#include "ui/charts/chart_painter.h"
#include "ui/widgets/picture_accessible.h"

#include <QKeyEvent>

#include <algorithm>

namespace headwise::ui {

namespace {
constexpr double zoomStep = 1.25;
}

bool LineChart::step(int key)
{
    const int count = static_cast<int>(m_series.size());
    if (count == 0)
        return false;
    Nearest next = m_hovered.series < 0 ? Nearest{0, -1, {}} : m_hovered;
    const auto sizeOf = [this](int series) {
        return static_cast<int>(m_series[static_cast<std::size_t>(series)].points.size());
    };
    switch (key) {
    case Qt::Key_Left: --next.index; break;
    case Qt::Key_Right: ++next.index; break;
    case Qt::Key_Home: next.index = 0; break;
    case Qt::Key_End: next.index = sizeOf(next.series) - 1; break;
    case Qt::Key_Up: next.series = (next.series + count - 1) % count; break;
    case Qt::Key_Down: next.series = (next.series + 1) % count; break;
    default: return false;
    }
    if (sizeOf(next.series) == 0)
        return true;
    next.index = std::clamp(next.index, 0, sizeOf(next.series) - 1);
    next.point = shownPoint(m_series[static_cast<std::size_t>(next.series)].points[next.index], m_look);
    hoverOn(next);
    announceCurrentCell(this);
    return true;
}

bool LineChart::event(QEvent* event)
{
    // Without this, 0 would open a page of the window.
    if (event->type() == QEvent::ShortcutOverride && static_cast<QKeyEvent*>(event)->key() == Qt::Key_0
        && static_cast<QKeyEvent*>(event)->modifiers() == Qt::NoModifier)
        event->accept();
    return QWidget::event(event);
}

void LineChart::keyPressEvent(QKeyEvent* event)
{
    const auto zoom = [this](double factor) {
        const bool both = m_look.plane == ChartLook::Plane::Complex;
        zoomAt(QRectF(rect()).center(), factor, both ? factor : 1);
    };
    switch (event->key()) {
    case Qt::Key_Plus:
    case Qt::Key_Equal: return zoom(zoomStep);
    case Qt::Key_Minus: return zoom(1 / zoomStep);
    case Qt::Key_0: return resetZoom();
    case Qt::Key_Return:
    case Qt::Key_Enter:
        if (m_hovered.series >= 0)
            return emit pointClicked(m_series[static_cast<std::size_t>(m_hovered.series)].name,
                                     m_hovered.index);
        break;
    default:
        if (step(event->key()))
            return;
    }
    QWidget::keyPressEvent(event);
}

void LineChart::focusInEvent(QFocusEvent* event)
{
    QWidget::focusInEvent(event);
    m_hasRing = true;
    update();
}

void LineChart::focusOutEvent(QFocusEvent* event)
{
    QWidget::focusOutEvent(event);
    m_hasRing = false;
    m_hovered = {};
    emit hoverLeft();
    update();
}

} // namespace headwise::ui
