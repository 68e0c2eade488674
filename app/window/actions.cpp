#include "app/window/actions.h"

#include "ui/base/icons.h"
#include "ui/widgets/command_palette.h"

#include <QAbstractSpinBox>
#include <QAction>
#include <QApplication>
#include <QComboBox>
#include <QKeyEvent>
#include <QLineEdit>
#include <QMenu>
#include <QMenuBar>
#include <QPlainTextEdit>
#include <QTextEdit>

#include <algorithm>

namespace headwise::app {

using namespace headwise::ui;

namespace {

void appendCommands(const QMenu* menu, QList<PaletteCommand>& commands)
{
    QString path;
    const QMenu* above = menu;
    do {
        path.prepend(above->title().remove(u'&') + QStringLiteral(" › "));
        above = qobject_cast<const QMenu*>(above->parentWidget());
    } while (above);
    for (QAction* item : menu->actions()) {
        if (item->menu())
            appendCommands(item->menu(), commands);
        else if (item->isEnabled() && !item->isSeparator())
            commands << PaletteCommand{item->text().remove(u'&'), path,
                                       item->shortcut().toString(QKeySequence::NativeText),
                                       [item] { item->trigger(); }};
    }
}

bool isTextField(const QObject* object)
{
    return qobject_cast<const QLineEdit*>(object) || qobject_cast<const QPlainTextEdit*>(object)
        || qobject_cast<const QTextEdit*>(object) || qobject_cast<const QAbstractSpinBox*>(object)
        || qobject_cast<const QComboBox*>(object);
}

} // namespace

Keys::Keys(const char* portable)
{
    if (*portable)
        append(QKeySequence::listFromString(QLatin1String(portable)));
}

bool always(const Workspace& /*workspace*/)
{
    return true;
}

bool whileOpen(const Workspace& workspace)
{
    return workspace.model()->isOpen();
}

Actions::Actions(QMainWindow* window, Workspace* workspace)
    : WindowPart(window, workspace)
{
    connect(workspace->selection(), &Selection::referenceChanged, this, &Actions::refresh);
    qApp->installEventFilter(this);
}

bool Actions::answers(const QKeyEvent& key) const
{
    const bool isLetter = key.key() >= Qt::Key_A && key.key() <= Qt::Key_Z;
    if (!isLetter || !key.modifiers().testFlag(Qt::ControlModifier))
        return false;
    const QKeySequence pressed(key.keyCombination());
    return std::ranges::any_of(m_conditions, [&pressed](const auto& condition) {
        return condition.first->isEnabled() && condition.first->shortcuts().contains(pressed);
    });
}

bool Actions::eventFilter(QObject* watched, QEvent* event)
{
    // On X11 a text field takes Ctrl+E, Ctrl+K and Ctrl+D as Emacs does, and the menu would not hear of them.
    if (event->type() == QEvent::ShortcutOverride && isTextField(watched)
        && static_cast<QWidget*>(watched)->window() == m_window && answers(*static_cast<QKeyEvent*>(event))) {
        event->ignore();
        return true;
    }
    return WindowPart::eventFilter(watched, event);
}

QMenu* Actions::addMenu(const QString& title)
{
    return m_window->menuBar()->addMenu(title);
}

QAction* Actions::addRow(QMenu* menu, const ActionRow& row)
{
    if (!row.id)
        return menu->addSeparator();
    QAction* action = menu->addAction(row.text);
    if (row.run)
        connect(action, &QAction::triggered, this, row.run);
    action->setObjectName(QLatin1String(row.id));
    action->setShortcuts(row.keys);
    if (row.icon)
        action->setIcon(icon(row.icon));
    if (!row.toolTip.isEmpty())
        action->setToolTip(row.toolTip);
    else if (!row.keys.isEmpty())
        action->setToolTip(
            QStringLiteral("%1 (%2)").arg(QString(row.text).remove(u'&').remove(u'…'),
                                          row.keys.first().toString(QKeySequence::NativeText)));
    m_conditions.emplace_back(action, row.isEnabled);
    return action;
}

void Actions::add(QMenu* menu, const std::vector<ActionRow>& rows)
{
    for (const ActionRow& row : rows)
        addRow(menu, row);
}

void Actions::refresh()
{
    for (const auto& [action, isEnabled] : m_conditions)
        action->setEnabled(isEnabled(*m_workspace));
}

QAction* Actions::find(const char* id) const
{
    return m_window->findChild<QAction*>(QLatin1String(id));
}

QList<PaletteCommand> Actions::commands() const
{
    QList<PaletteCommand> all;
    for (const QAction* top : m_window->menuBar()->actions())
        if (top->menu())
            appendCommands(top->menu(), all);
    return all;
}

} // namespace headwise::app
