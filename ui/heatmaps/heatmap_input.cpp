// Mouse and keyboard in a heatmap.

#include "ui/base/text.h"
#include "ui/heatmaps/heatmap_view.h"

#include <QApplication>
#include <QClipboard>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>

namespace headwise::ui {

namespace {

constexpr double heatmapInputWheelStep = 1.25; // per notch
constexpr double keyStep = 1.5;

} // namespace

void HeatmapView::mouseMoveEvent(QMouseEvent* event)
{
    if (m_pressed) {
        const QPointF moved = event->position() - *m_pressed;
        m_dragging = m_dragging || moved.manhattanLength() >= QApplication::startDragDistance();
    }
    if (m_dragging) {
        const QRectF cells = cellsArea();
        HeatmapState state = m_state;
        state.centerX -= (event->position().x() - m_lastDrag.x()) / cells.width() / m_state.zoomX;
        state.centerY -= (event->position().y() - m_lastDrag.y()) / cells.height() / m_state.zoomY;
        m_lastDrag = event->position();
        return setState(state);
    }
    if (const std::optional<QPoint> cell = cellAt(event->position()))
        emit cellHovered(cell->y(), cell->x(), m_scene.at(cell->y(), cell->x()));
    else
        emit hoverLeft();
}

void HeatmapView::mousePressEvent(QMouseEvent* event)
{
    if (event->button() == Qt::LeftButton) {
        m_pressed = m_lastDrag = event->position();
        m_dragging = false;
    }
}

void HeatmapView::mouseReleaseEvent(QMouseEvent* event)
{
    const bool wasDrag = std::exchange(m_dragging, false);
    m_pressed.reset();
    const std::optional<QPoint> cell = cellAt(event->position());
    if (wasDrag || !cell)
        return;
    const bool shifted = event->modifiers().testFlag(Qt::ShiftModifier);
    if (event->button() == Qt::RightButton || (event->button() == Qt::LeftButton && shifted)) {
        emit cellReferenced(cell->y(), cell->x());
    } else if (event->button() == Qt::LeftButton) {
        setCurrentCell(cell->y(), cell->x());
        emit cellClicked(cell->y(), cell->x());
    }
}

void HeatmapView::mouseDoubleClickEvent(QMouseEvent* event)
{
    if (event->button() != Qt::LeftButton)
        return;
    if (m_state.zoomX > 1 || m_state.zoomY > 1)
        return resetZoom();
    if (const std::optional<QPoint> cell = cellAt(event->position()))
        emit cellActivated(cell->y(), cell->x());
}

void HeatmapView::wheelEvent(QWheelEvent* event)
{
    // Some platforms turn the wheel sideways while Shift is down.
    const QPoint delta = event->angleDelta();
    const double notches = (delta.y() != 0 ? delta.y() : delta.x()) / 120.0;
    const double factor = std::pow(heatmapInputWheelStep, notches);
    const bool columnsOnly = event->modifiers().testFlag(Qt::ControlModifier);
    const bool rowsOnly = event->modifiers().testFlag(Qt::ShiftModifier);
    zoomAt(event->position(), rowsOnly ? 1 : factor, columnsOnly ? 1 : factor);
    event->accept();
}

void HeatmapView::keyPressEvent(QKeyEvent* event)
{
    if (event->matches(QKeySequence::Copy) && !isEmpty() && m_state.row >= 0)
        return copyCurrent();
    const bool command = event->modifiers() & (Qt::ControlModifier | Qt::AltModifier | Qt::MetaModifier);
    const bool isScaleKey = !command && !isEmpty() && handleScaleKey(*event);
    if (!isScaleKey && (command || isEmpty() || !(handleZoomKey(event->key()) || handleMoveKey(event))))
        QWidget::keyPressEvent(event);
}

bool HeatmapView::handleZoomKey(int key)
{
    const QRectF cells = cellsArea();
    const QRectF current = m_state.row >= 0 ? cellRect(m_state.row, m_state.column) : QRectF();
    const QPointF at = cells.contains(current.center()) ? current.center() : cells.center();
    switch (key) {
    case Qt::Key_Plus:
    case Qt::Key_Equal: return zoomAt(at, keyStep, keyStep), true;
    case Qt::Key_Minus: return zoomAt(at, 1 / keyStep, 1 / keyStep), true;
    case Qt::Key_0: return resetZoom(), true;
    case Qt::Key_F: return centerCurrent(), true;
    default: return false;
    }
}

bool HeatmapView::takesKey(const QKeyEvent& event) const
{
    const bool isPlain = !(event.modifiers() & ~Qt::KeypadModifier);
    return isPlain && !isEmpty() && event.key() == Qt::Key_0;
}

bool HeatmapView::handleScaleKey(const QKeyEvent& event)
{
    // If l moves to the right, L locks only with Shift.
    if (m_lettersMove && event.key() == Qt::Key_L && !event.modifiers().testFlag(Qt::ShiftModifier))
        return false;
    switch (event.key()) {
    case Qt::Key_L: return toggleLock(), true;
    case Qt::Key_I: return invertColors(), true;
    case Qt::Key_Z: return centerOnZero(), true;
    default: return false;
    }
}

bool HeatmapView::handleMoveKey(QKeyEvent* event)
{
    const int visible = static_cast<int>(m_scene.visible.height());
    const int page = m_lettersMove ? 1 : std::max(1, visible - 1); // a layer of a grid of heads
    const int all = static_cast<int>(m_scene.columnCount());
    switch (event->key()) {
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
        if (m_state.row < 0)
            return false;
        if (event->modifiers().testFlag(Qt::ShiftModifier)) {
            emit cellReferenced(m_state.row, m_state.column);
        } else { // single and double click in one
            const int row = m_state.row, column = m_state.column;
            emit cellClicked(row, column);
            emit cellActivated(row, column);
        }
        return true;
    default: return false;
    }
}

void HeatmapView::moveCurrent(int rows, int columns)
{
    if (m_state.row < 0) // The first key only shows the current position.
        return setCurrentCell(static_cast<int>(m_scene.visible.top()),
                              static_cast<int>(m_scene.visible.left()));
    setCurrentCell(std::clamp(m_state.row + rows, 0, static_cast<int>(m_scene.rowCount()) - 1),
                   std::clamp(m_state.column + columns, 0, static_cast<int>(m_scene.columnCount()) - 1));
    showCurrent();
    if (!isEmpty() && m_state.row >= 0) // Read out as if it were under the mouse.
        emit cellHovered(m_state.row, m_state.column, m_scene.at(m_state.row, m_state.column));
}

void HeatmapView::showCurrent()
{
    const QRectF visible = m_scene.visible;
    const double x = std::clamp(m_state.column + 0.5, visible.left() + 0.5, visible.right() - 0.5);
    const double y = std::clamp(m_state.row + 0.5, visible.top() + 0.5, visible.bottom() - 0.5);
    HeatmapState state = m_state;
    state.centerX += (m_state.column + 0.5 - x) / static_cast<double>(m_scene.columnCount());
    state.centerY += (m_state.row + 0.5 - y) / static_cast<double>(m_scene.rowCount());
    setState(state);
}

void HeatmapView::centerCurrent()
{
    if (m_state.row < 0)
        return;
    HeatmapState state = m_state;
    state.centerX = (m_state.column + 0.5) / static_cast<double>(m_scene.columnCount());
    state.centerY = (m_state.row + 0.5) / static_cast<double>(m_scene.rowCount());
    setState(state);
}

void HeatmapView::copyCurrent() const
{
    QApplication::clipboard()->setText(QStringList{axisLabel(m_scene.rows, m_state.row),
                                                   axisLabel(m_scene.columns, m_state.column),
                                                   exactNumber(m_scene.at(m_state.row, m_state.column))}
                                           .join(u'\t'));
}

void HeatmapView::leaveEvent(QEvent* /*event*/)
{
    emit hoverLeft();
}

} // namespace headwise::ui
