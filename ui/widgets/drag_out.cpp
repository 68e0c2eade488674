#include "ui/widgets/drag_out.h"

#include <QApplication>
#include <QHeaderView>
#include <QScrollBar>

#include <utility>

namespace headwise::ui {

namespace {

/// Tells whether a widget has a use of its own for drags.
bool takesDrags(const QWidget* widget)
{
    return qobject_cast<const QScrollBar*>(widget)
        || qobject_cast<const QHeaderView*>(widget->parentWidget());
}

} // namespace

DragOut::DragOut(PictureAt pictureAt, QObject* parent)
    : QObject(parent)
    , m_pictureAt(std::move(pictureAt))
{
    qApp->installEventFilter(this);
}

bool DragOut::eventFilter(QObject* watched, QEvent* event)
{
    if (m_replays)
        return false;
    switch (event->type()) {
    case QEvent::MouseButtonPress: return press(watched, static_cast<QMouseEvent*>(event));
    case QEvent::MouseMove: return m_press && watched == m_receiver && move(static_cast<QMouseEvent*>(event));
    case QEvent::MouseButtonRelease:
        return watched == m_receiver && release(watched, static_cast<QMouseEvent*>(event));
    default: return false;
    }
}

bool DragOut::press(QObject* watched, QMouseEvent* event)
{
    auto* widget = qobject_cast<QWidget*>(watched);
    if (widget)
        m_wasDragged = false;
    if (!widget || event->button() != Qt::LeftButton || event->modifiers() != Qt::ControlModifier
        || takesDrags(widget))
        return false;
    m_picture = m_pictureAt(widget);
    if (!m_picture)
        return false;
    m_receiver = watched;
    m_press.reset(event->clone());
    event->accept();
    return true;
}

bool DragOut::move(QMouseEvent* event)
{
    if (!event->buttons().testFlag(Qt::LeftButton)) { // The release went elsewhere.
        m_press.reset();
        return false;
    }
    event->accept();
    const QPointF moved = event->globalPosition() - m_press->globalPosition();
    if (moved.manhattanLength() >= QApplication::startDragDistance()) {
        m_press.reset();
        m_wasDragged = true;
        if (m_picture)
            emit dragged(m_picture);
    }
    return true;
}

bool DragOut::release(QObject* watched, QMouseEvent* event)
{
    if (!m_press) { // Qt sends the release that ended the drag. To the picture it would be a click.
        const bool endsDrag = std::exchange(m_wasDragged, false);
        if (endsDrag)
            event->accept();
        return endsDrag;
    }
    const QPointer<QObject> receiver(watched);
    const std::unique_ptr<QMouseEvent> press = std::move(m_press);
    m_replays = true;
    QCoreApplication::sendEvent(watched, press.get());
    m_replays = false;
    event->accept();
    return !receiver; // Else the release follows.
}

} // namespace headwise::ui
