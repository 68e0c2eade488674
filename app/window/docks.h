#pragma once

#include "app/window/window_part.h"

#include <QTimer>

#include <array>
#include <vector>

class QAction;
class QDockWidget;
class QWidget;

namespace headwise::ui {
class HeadsPage;
} // namespace headwise::ui

namespace headwise::app {

class PageTabs;
class WindowSettings;

/// The docks around the pages: heads, notes, log and jobs. They are shown while a model is open. Where the window is too narrow
/// for all, they give way: the docks beside the pages are narrowed first, then the notes are hidden until there is room again, and
/// then the heads.
class Docks : public WindowPart {
    Q_OBJECT

public:
    Docks(QMainWindow* window, ui::Workspace* workspace, ui::HeadsPage* heads, PageTabs* pages,
          WindowSettings* settings);

    void show(); ///< As the settings have them, unless they are shown for this model already.
    void hide();
    void rememberLayout(); ///< Takes the present layout of docks and bars for the one reset() returns to.
    void reset();
    QByteArray
    layout() const; ///< State of docks and bars, with those that gave way where the user wants them.
    void setLayout(const QByteArray& layout);
    void writeNote(); ///< Puts the cursor into the note on the selected head.

    std::vector<QWidget*> contents() const; ///< The heads first.
    QList<QAction*> toggles() const;        ///< Actions that show and hide a dock.

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void setShown(bool shown);
    void makeRoom(bool mayHide); ///< For the pages, as far as the docks beside them can give way.
    int roomBesidePages(int& smallestDocks);
    bool giveWay(int room, bool hides);
    int tolerated(bool forLeast) const;
    void forgetGivenWay();                              ///< All stand as the user wants them.
    QDockWidget* beside(Qt::DockWidgetArea area) const; ///< Null if none is shown there.
    int smallest(Qt::DockWidgetArea area) const;        ///< Width that the docks shown there need.

    /// The docks on one side of the pages.
    struct Side {
        Qt::DockWidgetArea area;
        int liked = 0; ///< px: the width before they gave way
        int given = 0; ///< px: the width they were given last
    };

    PageTabs* m_pages;
    WindowSettings* m_settings;
    std::vector<QDockWidget*> m_docks;
    std::array<Side, 2> m_sides{{{Qt::LeftDockWidgetArea}, {Qt::RightDockWidgetArea}}}; // the heads' first
    /// A dock that may be hidden for the pages.
    struct Yielding {
        QDockWidget* dock;
        bool forLeast; ///< Hidden only where a page is cut off otherwise; else where the pages lack comfort.
        bool gaveWay = false;
    };
    std::vector<Yielding> m_yielding; // the one that is hidden first
    QTimer m_pause;                   // until the window is laid out
    QByteArray m_firstLayout;
    QByteArray m_fullLayout; // before any was hidden for the pages
    bool m_mayHide = false;
    bool m_areShown = false;
    bool m_areEarly = false; // shown for a model that is not announced yet
};

} // namespace headwise::app
