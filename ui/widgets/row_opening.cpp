#include "ui/widgets/row_opening.h"

#include <QKeyEvent>

namespace headwise::ui {

namespace {

class EnterKey : public QObject {
public:
    EnterKey(QAbstractItemView* view, std::function<void(const QModelIndex&)> open)
        : QObject(view)
        , m_view(view)
        , m_open(std::move(open))
    {
        view->installEventFilter(this);
    }

    bool eventFilter(QObject* watched, QEvent* event) override
    {
        if (event->type() != QEvent::KeyPress || !m_view->currentIndex().isValid())
            return QObject::eventFilter(watched, event);
        const auto* key = static_cast<QKeyEvent*>(event);
        const bool isEnter = key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter;
        if (!isEnter || (key->modifiers() & ~Qt::KeypadModifier))
            return QObject::eventFilter(watched, event);
        m_open(m_view->currentIndex());
        return true;
    }

private:
    QAbstractItemView* m_view;
    std::function<void(const QModelIndex&)> m_open;
};

} // namespace

void whenOpened(QAbstractItemView* view, const std::function<void(const QModelIndex&)>& open)
{
    QObject::connect(view, &QAbstractItemView::doubleClicked, view, open);
    new EnterKey(view, open);
}

} // namespace headwise::ui
