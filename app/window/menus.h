#pragma once

class QMainWindow;

namespace headwise::ui {
class Workspace;
}

namespace headwise::app {

class Actions;
class Addresses;
class Docks;
class FigureCommands;
class Navigation;
class Opening;
class Pages;
class Saving;
class Tour;
class WindowSettings;

/// The parts of a window that its menus command.
struct MenuTargets {
    QMainWindow* window;
    ui::Workspace* workspace;
    Actions* actions;
    WindowSettings* settings;
    Saving* saving;
    Opening* opening;
    Pages* pages;
    Docks* docks;
    FigureCommands* figures;
    Navigation* navigation;
    Addresses* addresses;
    Tour* tour;
};

/// Fills the menu bar. Everything the window can be asked to do stands in the tables of menus.cpp.
void fillMenus(const MenuTargets& targets);

} // namespace headwise::app
