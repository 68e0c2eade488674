#include "ui/charts/chart_pointer.h"

#include "ui/charts/chart_painter.h"
#include "ui/widgets/picture_accessible.h"

#include <QApplication>
#include <QMouseEvent>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>

namespace headwise::ui {

namespace {

constexpr double chartPointerWheelStep = 1.25;
constexpr double chartPointerKeyStep = 1.25;
constexpr double chartPointerReach = 40; // px from the mouse to the point that is read out

} // namespace

ChartPointer::ChartPointer(LineChart* chart, QWidget* canvas)
    : m_chart(chart)
    , m_canvas(canvas)
{
}

ChartPoint ChartPointer::nearestTo(const QPointF& position) const
{
    const ChartFrame now = m_chart->frame();
    ChartPoint nearest;
    double closest = chartPointerReach;
    for (std::size_t i = 0; i < m_chart->series().size(); ++i) {
        const QVector<QPointF>& points = m_chart->series()[i].points;
        for (qsizetype k = 0; k < points.size(); ++k) {
            const QPointF shown = shownPoint(points[k], m_chart->look());
            const QPointF away = now.map(shown) - position;
            const double distance = std::hypot(away.x(), away.y());
            if (distance < closest) { // False for NaN.
                closest = distance;
                nearest = {static_cast<int>(i), static_cast<int>(k), shown};
            }
        }
    }
    return nearest;
}

void ChartPointer::hoverOn(const ChartPoint& nearest)
{
    const bool same = nearest.series == m_hovered.series && nearest.index == m_hovered.index;
    m_hovered = nearest;
    if (same)
        return;
    m_chart->setProperty(currentPointProperty, QPoint(nearest.series, nearest.index));
    m_canvas->update();
    if (nearest.series < 0)
        return emit m_chart->hoverLeft();
    const ChartSeries& series = m_chart->series()[static_cast<std::size_t>(nearest.series)];
    emit m_chart->pointHovered(series.name, nearest.index, series.points[nearest.index]);
}

void ChartPointer::leave()
{
    m_hovered = {};
    m_canvas->update();
    emit m_chart->hoverLeft();
}

bool ChartPointer::handleMouse(QEvent* event)
{
    auto* mouse = static_cast<QMouseEvent*>(event); // Valid only if the type matches.
    switch (event->type()) {
    case QEvent::Wheel: {
        auto* wheel = static_cast<QWheelEvent*>(event);
        const QPoint delta = wheel->angleDelta();
        const double factor =
            std::pow(chartPointerWheelStep, (delta.y() != 0 ? delta.y() : delta.x()) / 120.0);
        const bool vertical = wheel->modifiers().testFlag(Qt::ShiftModifier);
        const bool both = m_chart->look().plane != ChartLook::Plane::Free;
        m_chart->zoomAt(wheel->position(), vertical && !both ? 1 : factor, vertical || both ? factor : 1);
        return true;
    }
    case QEvent::MouseButtonPress:
        m_dragging = false;
        if (mouse->button() == Qt::LeftButton)
            m_pressed = m_lastDrag = mouse->position();
        return true;
    case QEvent::MouseMove: {
        const QPointF position = mouse->position();
        m_dragging = m_dragging
            || (m_pressed && (position - *m_pressed).manhattanLength() >= QApplication::startDragDistance());
        if (!m_dragging)
            return hoverOn(nearestTo(position)), true;
        const ChartFrame now = m_chart->frame();
        m_chart->setRange(now.range.translated(now.unmap(m_lastDrag) - now.unmap(position)));
        m_lastDrag = position;
        return true;
    }
    case QEvent::MouseButtonRelease: {
        const ChartPoint nearest = nearestTo(mouse->position());
        const bool clicked = m_pressed && !m_dragging && nearest.series >= 0;
        m_pressed.reset();
        m_dragging = false;
        if (clicked)
            emit m_chart->pointClicked(m_chart->series()[static_cast<std::size_t>(nearest.series)].name,
                                       nearest.index);
        return true;
    }
    case QEvent::MouseButtonDblClick: return m_chart->resetZoom(), true;
    case QEvent::Leave: leave(); return false;
    default: return false;
    }
}

bool ChartPointer::step(int key)
{
    const int count = static_cast<int>(m_chart->series().size());
    if (count == 0)
        return false;
    ChartPoint next = m_hovered.series < 0 ? ChartPoint{0, -1, {}} : m_hovered;
    const auto sizeOf = [this](int series) {
        return static_cast<int>(m_chart->series()[static_cast<std::size_t>(series)].points.size());
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
    next.point = shownPoint(m_chart->series()[static_cast<std::size_t>(next.series)].points[next.index],
                            m_chart->look());
    hoverOn(next);
    announceCurrentCell(m_chart);
    return true;
}

bool ChartPointer::handleKey(int key)
{
    const auto zoom = [this](double factor) {
        const bool both = m_chart->look().plane == ChartLook::Plane::Complex;
        m_chart->zoomAt(QRectF(m_chart->rect()).center(), factor, both ? factor : 1);
    };
    switch (key) {
    case Qt::Key_Plus:
    case Qt::Key_Equal: return zoom(chartPointerKeyStep), true;
    case Qt::Key_Minus: return zoom(1 / chartPointerKeyStep), true;
    case Qt::Key_0: return m_chart->resetZoom(), true;
    case Qt::Key_Return:
    case Qt::Key_Enter:
        if (m_hovered.series < 0)
            return false;
        emit m_chart->pointClicked(m_chart->series()[static_cast<std::size_t>(m_hovered.series)].name,
                                   m_hovered.index);
        return true;
    default: return step(key);
    }
}

} // namespace headwise::ui
