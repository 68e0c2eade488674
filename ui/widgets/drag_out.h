#pragma once

#include <QMouseEvent>
#include <QPointer>
#include <QWidget>

#include <functional>
#include <memory>

namespace headwise::ui {

/// Tells when a picture is dragged with Ctrl held, which takes a copy of it out of the window.
///
/// Everything else reaches the picture as before. A press with Ctrl is withheld until it is known to be a click.
class DragOut : public QObject {
    Q_OBJECT

public:
    /// Returns the picture that a widget is or belongs to; null if none can be dragged there.
    using PictureAt = std::function<QWidget*(QWidget*)>;

    explicit DragOut(PictureAt pictureAt, QObject* parent = nullptr);

    bool eventFilter(QObject* watched, QEvent* event) override;

signals:
    void dragged(QWidget* picture);

private:
    bool press(QObject* watched, QMouseEvent* event);
    bool move(QMouseEvent* event);
    bool release(QObject* watched, QMouseEvent* event);

    PictureAt m_pictureAt;
    std::unique_ptr<QMouseEvent> m_press; // withheld; null: none
    QPointer<QObject> m_receiver;
    QPointer<QWidget> m_picture;
    bool m_replays = false;
    bool m_wasDragged = false; // and the release is still to come
};

} // namespace headwise::ui
