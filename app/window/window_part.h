#pragma once

#include "ui/document/workspace.h"

#include <QMainWindow>

namespace headwise::app {

/// Base of the objects that share the work of a window, each with one duty. The window owns them.
class WindowPart : public QObject {
public:
    WindowPart(QMainWindow* window, ui::Workspace* workspace)
        : QObject(window)
        , m_window(window)
        , m_workspace(workspace)
    {
    }

    void showMessage(const QString& message) const; ///< In the status bar, for some seconds.
    void showError(const QString& title, const QString& message) const; ///< In a box, to be copied.

protected:
    QMainWindow* m_window;
    ui::Workspace* m_workspace;
};

} // namespace headwise::app
