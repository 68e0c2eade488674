#pragma once

#include "app/window/window_part.h"

#include <vector>

class QAction;
class QDockWidget;
class QWidget;

namespace headwise::ui {
class HeadsPage;
} // namespace headwise::ui

namespace headwise::app {

class WindowSettings;

/// The docks around the pages: heads, notes, log and jobs. They are shown while a model is open.
class Docks : public WindowPart {
    Q_OBJECT

public:
    Docks(QMainWindow* window, ui::Workspace* workspace, ui::HeadsPage* heads, WindowSettings* settings);

    void show(); ///< As the settings have them, unless they are shown for this model already.
    void hide();
    void rememberLayout(); ///< Takes the present layout of docks and bars for the one reset() returns to.
    void reset();
    void writeNote(); ///< Puts the cursor into the note on the selected head.

    std::vector<QWidget*> contents() const; ///< The heads first.
    QList<QAction*> toggles() const;        ///< Actions that show and hide a dock.

private:
    void setShown(bool shown);

    WindowSettings* m_settings;
    std::vector<QDockWidget*> m_docks;
    QByteArray m_firstLayout;
    bool m_areShown = false;
    bool m_areEarly = false; // shown for a model that is not announced yet
};

} // namespace headwise::app
