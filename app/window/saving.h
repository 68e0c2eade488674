#pragma once

#include "app/window/window_part.h"

#include <QMessageBox>

#include <functional>

namespace headwise::app {

class WindowSettings;

/// Saves the session, and asks before something that is not saved is lost.
class Saving : public WindowPart {
    Q_OBJECT

public:
    /// \param viewState  the state of the window, as a session keeps it
    Saving(QMainWindow* window, ui::Workspace* workspace, WindowSettings* settings,
           std::function<QString()> viewState);

    QString viewState() const { return m_viewState(); }
    void saveTo(const QString& file);
    void save();
    void saveAs();

    bool asksFirst() const; ///< Whether whenNotesAreSafe() has something to ask about.
    /// Calls `next` at once, or once notes and results are saved or given up. Never calls it if the user cancels.
    void whenNotesAreSafe(const std::function<void()>& next);
    /// The same where only results would be lost.
    void whenResultsAreSafe(const std::function<void()>& next);

signals:
    void declined(); ///< Results stay, so that what was chosen instead of them does not apply.

private:
    void askAboutConflict(const QString& file); ///< The file was changed by another program.
    void continueAfter(const QString& savedFile);
    QMessageBox::StandardButton askToSave(const QString& question, const std::function<void()>& next);

    WindowSettings* m_settings;
    std::function<QString()> m_viewState;
    std::function<void()> m_next; // to do once the session is saved
};

} // namespace headwise::app
