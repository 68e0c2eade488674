#include "ui/heatmaps/heatmap_pointer.h"

#include "ui/base/text.h"
#include "ui/heatmaps/heatmap_view.h"

#include <QApplication>
#include <QClipboard>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QToolTip>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>
#include <utility>

namespace headwise::ui {

namespace {

constexpr double heatmapPointerWheelStep = 1.25; // per notch
constexpr double keyStep = 1.5;

QString normAt(const HeatmapView& view, const QPointF& position)
{
    const HeatmapScene& scene = view.scene();
    if (!scene.norms || scene.isEmpty() || view.cells().area().isEmpty())
        return {};
    const QPointF part = view.cells().partAt(position);
    if (part.x() > 1 && part.y() >= 0 && part.y() < 1) {
        const int row = static_cast<int>(scene.visible.top() + part.y() * scene.visible.height());
        return HeatmapView::tr("norm of row %1: %2")
            .arg(axisLabel(scene.rows, row), number(double{scene.norms->rows(row)}));
    }
    if (part.y() > 1 && part.x() >= 0 && part.x() < 1) {
        const int column = static_cast<int>(scene.visible.left() + part.x() * scene.visible.width());
        return HeatmapView::tr("norm of column %1: %2")
            .arg(axisLabel(scene.columns, column), number(double{scene.norms->columns(column)}));
    }
    return {};
}

} // namespace

HeatmapPointer::HeatmapPointer(HeatmapView* view)
    : m_view(view)
{
}

bool HeatmapPointer::handle(QEvent* event)
{
    switch (event->type()) {
    case QEvent::ShortcutOverride: // Without this, 0 would open a page of the window.
        if (takesKey(*static_cast<QKeyEvent*>(event)))
            event->accept();
        return false;
    case QEvent::ToolTip: return showToolTip(*static_cast<QHelpEvent*>(event));
    case QEvent::Leave: emit m_view->hoverLeft(); return false;
    case QEvent::MouseMove:
    case QEvent::MouseButtonPress:
    case QEvent::MouseButtonRelease:
    case QEvent::MouseButtonDblClick:
    case QEvent::Wheel:
    case QEvent::KeyPress: return m_view->isEnabled() && handleInput(event);
    default: return false; // Others reach a view that is still being made.
    }
}

bool HeatmapPointer::handleInput(QEvent* event)
{
    switch (event->type()) {
    case QEvent::MouseMove: return move(*static_cast<QMouseEvent*>(event)), true;
    case QEvent::MouseButtonPress: return press(*static_cast<QMouseEvent*>(event)), true;
    case QEvent::MouseButtonRelease: return release(*static_cast<QMouseEvent*>(event)), true;
    case QEvent::MouseButtonDblClick: return doubleClick(*static_cast<QMouseEvent*>(event)), true;
    case QEvent::Wheel: return wheel(*static_cast<QWheelEvent*>(event)), true;
    case QEvent::KeyPress: return key(*static_cast<QKeyEvent*>(event));
    default: return false;
    }
}

void HeatmapPointer::move(const QMouseEvent& event)
{
    if (m_pressed) {
        const QPointF moved = event.position() - *m_pressed;
        m_dragging = m_dragging || moved.manhattanLength() >= QApplication::startDragDistance();
    }
    const HeatmapLayout& cells = m_view->cells();
    if (m_dragging) {
        const QPointF moved = event.position() - std::exchange(m_lastDrag, event.position());
        const QSizeF size = cells.area().size();
        return m_view->zoom()->pan(moved.x() / size.width(), moved.y() / size.height());
    }
    if (const std::optional<QPoint> cell = cells.at(event.position()))
        emit m_view->cellHovered(cell->y(), cell->x(), m_view->scene().at(cell->y(), cell->x()));
    else
        emit m_view->hoverLeft();
}

void HeatmapPointer::press(const QMouseEvent& event)
{
    if (event.button() == Qt::LeftButton) {
        m_pressed = m_lastDrag = event.position();
        m_dragging = false;
    }
}

void HeatmapPointer::release(const QMouseEvent& event)
{
    const bool wasDrag = std::exchange(m_dragging, false);
    m_pressed.reset();
    const std::optional<QPoint> cell = m_view->cells().at(event.position());
    if (wasDrag || !cell)
        return;
    if (event.button() != Qt::LeftButton)
        return;
    if (event.modifiers().testFlag(Qt::ShiftModifier)) {
        emit m_view->cellReferenced(cell->y(), cell->x());
    } else {
        m_view->zoom()->setCurrentCell(cell->y(), cell->x());
        emit m_view->cellClicked(cell->y(), cell->x());
    }
}

void HeatmapPointer::doubleClick(const QMouseEvent& event)
{
    if (event.button() != Qt::LeftButton)
        return;
    const HeatmapState& state = m_view->zoom()->state();
    if (state.zoomX > 1 || state.zoomY > 1)
        return m_view->zoom()->fit();
    if (const std::optional<QPoint> cell = m_view->cells().at(event.position()))
        emit m_view->cellActivated(cell->y(), cell->x());
}

void HeatmapPointer::wheel(QWheelEvent& event)
{
    // Some platforms turn the wheel sideways while Shift is down.
    const QPoint delta = event.angleDelta();
    const double notches = (delta.y() != 0 ? delta.y() : delta.x()) / 120.0;
    const double factor = std::pow(heatmapPointerWheelStep, notches);
    const bool columnsOnly = event.modifiers().testFlag(Qt::ControlModifier);
    const bool rowsOnly = event.modifiers().testFlag(Qt::ShiftModifier);
    zoomAt(event.position(), rowsOnly ? 1 : factor, columnsOnly ? 1 : factor);
    event.accept();
}

void HeatmapPointer::zoomAt(const QPointF& position, double factorX, double factorY)
{
    if (!m_view->isEmpty() && !m_view->cells().area().isEmpty())
        m_view->zoom()->zoomAt(m_view->cells().partAt(position), factorX, factorY);
}

bool HeatmapPointer::key(const QKeyEvent& event)
{
    if (m_view->isEmpty())
        return false;
    if (event.matches(QKeySequence::Copy) && m_view->zoom()->state().row >= 0)
        return copyCurrent(), true;
    const bool command = event.modifiers() & (Qt::ControlModifier | Qt::AltModifier | Qt::MetaModifier);
    return !command && (handleScaleKey(event) || handleZoomKey(event.key()) || handleMoveKey(event));
}

bool HeatmapPointer::handleZoomKey(int key)
{
    const HeatmapState& state = m_view->zoom()->state();
    const QRectF cells = m_view->cells().area();
    const QRectF current = state.row >= 0 ? m_view->cells().rect(state.row, state.column) : QRectF();
    const QPointF at = cells.contains(current.center()) ? current.center() : cells.center();
    switch (key) {
    case Qt::Key_Plus:
    case Qt::Key_Equal: return zoomAt(at, keyStep, keyStep), true;
    case Qt::Key_Minus: return zoomAt(at, 1 / keyStep, 1 / keyStep), true;
    case Qt::Key_0: return m_view->zoom()->fit(), true;
    case Qt::Key_F: return m_view->zoom()->centerCurrent(), true;
    default: return false;
    }
}

bool HeatmapPointer::takesKey(const QKeyEvent& event) const
{
    const bool isPlain = !(event.modifiers() & ~Qt::KeypadModifier);
    return isPlain && !m_view->isEmpty() && event.key() == Qt::Key_0;
}

bool HeatmapPointer::handleScaleKey(const QKeyEvent& event)
{
    // If l moves to the right, L locks only with Shift.
    if (m_lettersMove && event.key() == Qt::Key_L && !event.modifiers().testFlag(Qt::ShiftModifier))
        return false;
    switch (event.key()) {
    case Qt::Key_L: return m_view->colors()->toggleLock(), true;
    case Qt::Key_I: return m_view->colors()->invert(), true;
    case Qt::Key_Z: return m_view->colors()->centerOnZero(), true;
    default: return false;
    }
}

bool HeatmapPointer::handleMoveKey(const QKeyEvent& event)
{
    const int visible = static_cast<int>(m_view->scene().visible.height());
    const int page = m_lettersMove ? 1 : std::max(1, visible - 1); // a layer of a grid of heads
    const int all = static_cast<int>(m_view->scene().columnCount());
    const int row = m_view->zoom()->state().row, column = m_view->zoom()->state().column;
    switch (event.key()) {
    case Qt::Key_Left:
    case Qt::Key_H: return moveCurrent(0, -1), true;
    case Qt::Key_Right:
    case Qt::Key_L: return moveCurrent(0, 1), true;
    case Qt::Key_Up:
    case Qt::Key_K: return moveCurrent(-1, 0), true;
    case Qt::Key_Down:
    case Qt::Key_J: return moveCurrent(1, 0), true;
    case Qt::Key_PageUp: return moveCurrent(-page, 0), true;
    case Qt::Key_PageDown: return moveCurrent(page, 0), true;
    case Qt::Key_Home: return moveCurrent(0, -all), true;
    case Qt::Key_End: return moveCurrent(0, all), true;
    case Qt::Key_Return:
    case Qt::Key_Enter:
        if (row < 0)
            return false;
        if (event.modifiers().testFlag(Qt::ShiftModifier)) {
            emit m_view->cellReferenced(row, column);
        } else { // single and double click in one
            emit m_view->cellClicked(row, column);
            emit m_view->cellActivated(row, column);
        }
        return true;
    default: return false;
    }
}

void HeatmapPointer::moveCurrent(int rows, int columns)
{
    const bool wasNone = m_view->zoom()->state().row < 0;
    m_view->zoom()->moveCurrent(rows, columns);
    const HeatmapState& state = m_view->zoom()->state();
    if (!wasNone && !m_view->isEmpty() && state.row >= 0) // Read out as if it were under the mouse.
        emit m_view->cellHovered(state.row, state.column, m_view->scene().at(state.row, state.column));
}

void HeatmapPointer::copyCurrent() const
{
    const HeatmapScene& scene = m_view->scene();
    const HeatmapState& state = m_view->zoom()->state();
    QApplication::clipboard()->setText(QStringList{axisLabel(scene.rows, state.row),
                                                   axisLabel(scene.columns, state.column),
                                                   exactNumber(scene.at(state.row, state.column))}
                                           .join(u'\t'));
}

bool HeatmapPointer::showToolTip(const QHelpEvent& event) const
{
    const QString text =
        m_view->note().area().contains(event.pos()) ? m_view->note().text() : normAt(*m_view, event.pos());
    if (text.isEmpty())
        return false;
    QToolTip::showText(event.globalPos(), text, m_view);
    return true;
}

} // namespace headwise::ui
