#include "ui/pages/export/export_history.h"

#include <QAbstractSpinBox>
#include <QAction>
#include <QKeyEvent>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QUndoCommand>

#include <utility>

namespace headwise::ui {

/// A change of the settings. Changes in one field, one after another, are taken back together.
class ExportHistory::Change : public QUndoCommand {
public:
    /// \param field  the field that is typed in; none: this change stands alone
    Change(ExportHistory* history, ExportState before, ExportState after, const QWidget* field)
        : m_history(history)
        , m_before(std::move(before))
        , m_after(std::move(after))
        , m_field(field)
    {
    }

    void undo() override { show(m_before); }
    void redo() override
    {
        if (std::exchange(m_isDone, false))
            return; // the user's change, which is shown already
        show(m_after);
    }
    int id() const override { return m_field ? 1 : -1; }
    bool mergeWith(const QUndoCommand* other) override
    {
        const auto* next = static_cast<const Change*>(other);
        if (next->m_field != m_field)
            return false;
        m_after = next->m_after;
        setObsolete(m_after == m_before);
        return true;
    }

private:
    void show(const ExportState& state)
    {
        m_history->pass([&] { m_history->m_show(state); });
    }

    ExportHistory* m_history;
    ExportState m_before, m_after;
    const QWidget* m_field; // only compared
    bool m_isDone = true;
};

ExportHistory::ExportHistory(QWidget* dialog, std::function<ExportState()> state,
                             std::function<void(const ExportState&)> show)
    : QObject(dialog)
    , m_dialog(dialog)
    , m_state(std::move(state))
    , m_show(std::move(show))
    , m_shown(m_state())
{
    for (auto [action, keys] :
         {std::pair(m_stack.createUndoAction(dialog, tr("Undo")), QKeySequence::Undo),
          std::pair(m_stack.createRedoAction(dialog, tr("Redo")), QKeySequence::Redo)}) {
        action->setShortcuts(keys);
        dialog->addAction(action);
    }
    // Fields would take the keys for themselves, and not undo what other controls did.
    for (QWidget* control : dialog->findChildren<QWidget*>())
        control->installEventFilter(this);
}

bool ExportHistory::eventFilter(QObject* watched, QEvent* event)
{
    if (event->type() != QEvent::ShortcutOverride)
        return QObject::eventFilter(watched, event);
    const auto* key = static_cast<QKeyEvent*>(event);
    if (!key->matches(QKeySequence::Undo) && !key->matches(QKeySequence::Redo))
        return QObject::eventFilter(watched, event);
    event->ignore(); // so that it becomes the dialog's shortcut
    return true;
}

void ExportHistory::noteChange()
{
    if (m_isPassing || m_shown == m_state())
        return;
    const ExportState before = std::exchange(m_shown, m_state());
    QWidget* focused = m_dialog->isActiveWindow() ? m_dialog->focusWidget() : nullptr;
    const bool isTyped = qobject_cast<QLineEdit*>(focused) || qobject_cast<QPlainTextEdit*>(focused)
        || qobject_cast<QAbstractSpinBox*>(focused);
    m_stack.push(new Change(this, before, m_shown, isTyped ? focused : nullptr));
}

void ExportHistory::pass(const std::function<void()>& change)
{
    m_isPassing = true;
    change();
    m_isPassing = false;
    m_shown = m_state();
}

} // namespace headwise::ui
