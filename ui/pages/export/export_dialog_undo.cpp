// Undo in the export dialog: one history of all its settings, also of the words in its fields.

#include "ui/pages/export/edits_editor.h"
#include "ui/pages/export/export_dialog.h"

#include <QAbstractSpinBox>
#include <QAction>
#include <QKeyEvent>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QUndoCommand>

#include <utility>

namespace headwise::ui {

/// A change of the settings. Changes in one field, one after another, are taken back together.
class ExportDialog::SettingsChange : public QUndoCommand {
public:
    /// \param field  the field that is typed in; none: this change stands alone
    SettingsChange(ExportDialog* dialog, State before, State after, const QWidget* field)
        : m_dialog(dialog)
        , m_before(std::move(before))
        , m_after(std::move(after))
        , m_field(field)
    {
    }

    void undo() override { m_dialog->showState(m_before); }
    void redo() override
    {
        if (std::exchange(m_isDone, false))
            return; // the user's change, which is shown already
        m_dialog->showState(m_after);
    }
    int id() const override { return m_field ? 1 : -1; }
    bool mergeWith(const QUndoCommand* other) override
    {
        const auto* next = static_cast<const SettingsChange*>(other);
        if (next->m_field != m_field)
            return false;
        m_after = next->m_after;
        setObsolete(m_after == m_before);
        return true;
    }

private:
    ExportDialog* m_dialog;
    State m_before, m_after;
    const QWidget* m_field; // only compared
    bool m_isDone = true;
};

void ExportDialog::createUndo()
{
    for (auto [action, keys] :
         {std::pair(m_history.createUndoAction(this, tr("Undo")), QKeySequence::Undo),
          std::pair(m_history.createRedoAction(this, tr("Redo")), QKeySequence::Redo)}) {
        action->setShortcuts(keys);
        addAction(action);
    }
    // Fields would take the keys for themselves, and not undo what other controls did.
    for (QWidget* control : findChildren<QWidget*>())
        control->installEventFilter(this);
    m_shown = state();
}

bool ExportDialog::eventFilter(QObject* watched, QEvent* event)
{
    if (event->type() != QEvent::ShortcutOverride)
        return QDialog::eventFilter(watched, event);
    const auto* key = static_cast<QKeyEvent*>(event);
    if (!key->matches(QKeySequence::Undo) && !key->matches(QKeySequence::Redo))
        return QDialog::eventFilter(watched, event);
    event->ignore(); // so that it becomes the dialog's shortcut
    return true;
}

ExportDialog::State ExportDialog::state() const
{
    return {m_settings, m_presetName, m_presetHeight, m_fittedHeight};
}

void ExportDialog::noteChange()
{
    if (m_isRestoring || m_shown == state())
        return;
    const State before = std::exchange(m_shown, state());
    QWidget* focused = isActiveWindow() ? focusWidget() : nullptr;
    const bool isTyped = qobject_cast<QLineEdit*>(focused) || qobject_cast<QPlainTextEdit*>(focused)
        || qobject_cast<QAbstractSpinBox*>(focused);
    m_history.push(new SettingsChange(this, before, m_shown, isTyped ? focused : nullptr));
}

void ExportDialog::showState(const State& wanted)
{
    m_isRestoring = true;
    m_settings = wanted.settings;
    m_presetName = wanted.preset;
    m_presetHeight = wanted.presetHeight;
    m_fittedHeight = wanted.fittedHeight;
    m_edits->setEdits(m_settings.style.edits);
    showCaption();
    showSettings();
    m_isRestoring = false;
    m_shown = state();
}

} // namespace headwise::ui
