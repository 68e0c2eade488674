#pragma once

#include "app/window/window_part.h"

#include <QList>
#include <QString>

namespace headwise::ui {
struct PaletteCommand;
} // namespace headwise::ui

namespace headwise::app {

class Docks;
class MainBar;
class Pages;

/// Moves between heads, tokens and panes, and out of them again with Esc.
class Navigation : public WindowPart {
    Q_OBJECT

public:
    Navigation(QMainWindow* window, ui::Workspace* workspace, Pages* pages, Docks* docks, MainBar* bar);

    void moveHead(int layers, int heads);
    void jumpTo(const QString& headName); ///< "10.7" or "L10H7"; says so if there is none.
    void goToHead();                      ///< Puts the cursor into the field for it.
    void findToken();                     ///< In the field of the page, if it has one, else in the tool bar.
    void goToPane(int step);              ///< The heads, the page and the shown docks, in a circle.
    void toggleBookmark();
    /// Leaves the nearest of: a field, a job of the page, a filter, an analysis that was asked for, a jump.
    void escape();
    /// Opens the palette of these commands, the bookmarks, heads and tokens.
    void offer(QList<ui::PaletteCommand> commands);

private:
    bool leaveField();     ///< Clears the field that has the focus.
    bool cancelJob();      ///< The first one that the page shows running.
    bool clearFilter();    ///< The first one of the page that hides something.
    bool cancelAnalysis(); ///< The one that runs, if only the user can have asked for it.
    /// The tokens that the words are made of, if they are no single one.
    QList<ui::PaletteCommand> pieces(const QString& words);
    void returnFromJump(); ///< To where the last jump began, once.

    Pages* m_pages;
    Docks* m_docks;
    MainBar* m_bar;
    bool m_jumped = false;
};

} // namespace headwise::app
