#pragma once

#include "app/window/window_part.h"

#include <QList>
#include <QPointer>

class QWidget;

namespace headwise::app {

class Pages;
class TourPanel;
class WindowSettings;

/// A walk through the window in six steps. Each shows a page, outlines the part it is about and explains it in a sentence
/// or two. Back, Next and the arrow keys move, Skip and Esc close.
class Tour : public WindowPart {
    Q_OBJECT

public:
    Tour(QMainWindow* window, ui::Workspace* workspace, Pages* pages, WindowSettings* settings);

    /// Begins at the first step. Does nothing without an open model.
    void start();
    /// Starts the tour when the model that is being opened is there, unless the user has seen it before.
    void offer();
    bool leave(); ///< Closes the tour. \returns false if none is shown

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void show(int step); ///< Leaves the tour after the last one.
    void showPage(const QStringList& names);
    QWidget* partNamed(const QStringList& names) const; ///< The page if none is visible.
    void outline(QWidget* part);
    void place(); ///< Puts the panel and the outline where they belong.

    Pages* m_pages;
    WindowSettings* m_settings;
    bool m_isOffered = false; // waits for the model
    int m_step = 0;
    TourPanel* m_panel = nullptr;       // null: no tour is shown
    QWidget* m_outline = nullptr;       // with the panel
    QPointer<QWidget> m_part;           // the outlined one
    QList<QPointer<QWidget>> m_watched; // the part and what holds it, whose moves the outline follows
};

} // namespace headwise::app
