#pragma once

#include "app/window/window_part.h"

#include <QKeySequence>
#include <QList>
#include <QString>

#include <functional>
#include <utility>
#include <vector>

class QAction;
class QKeyEvent;
class QMenu;

namespace headwise::ui {
struct PaletteCommand;
} // namespace headwise::ui

namespace headwise::app {

/// Shortcuts of an action, the first shown beside it: "Ctrl+Shift+N; N", or the desktop's own.
struct Keys : QList<QKeySequence> {
    Keys() = default;
    Keys(const char* portable);
    Keys(QKeySequence::StandardKey key)
        : QList<QKeySequence>{QKeySequence(key)}
    {
    }
};

bool always(const ui::Workspace& workspace);
bool whileOpen(const ui::Workspace& workspace);

/// One thing the window can do: a row of the table that menus, tool bar, shortcuts and palette are made from.
struct ActionRow {
    const char* id = nullptr;       ///< Object name of the action. Null: a separator.
    QString text = {};              ///< With its mnemonic.
    std::function<void()> run = {}; ///< Empty: the caller connects the action.
    Keys keys = {};
    const char* icon = nullptr;
    bool (*isEnabled)(const ui::Workspace&) = whileOpen;
    QString toolTip = {}; ///< Empty: the text, with its key if it has one.
};

/// The actions of a window, each enabled while its row says so.
class Actions : public WindowPart {
    Q_OBJECT

public:
    Actions(QMainWindow* window, ui::Workspace* workspace);

    QMenu* addMenu(const QString& title); ///< To the menu bar.
    QAction* addRow(QMenu* menu, const ActionRow& row);
    void add(QMenu* menu, const std::vector<ActionRow>& rows);
    void refresh(); ///< Enables and disables them all.

    QAction* find(const char* id) const;
    QList<ui::PaletteCommand> commands() const; ///< The enabled ones of all menus.

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    bool
    answers(const QKeyEvent& key) const; ///< Whether an enabled action has these keys, Ctrl and a letter.

    std::vector<std::pair<QAction*, decltype(ActionRow::isEnabled)>> m_conditions;
};

} // namespace headwise::app
