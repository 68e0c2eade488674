#pragma once

#include "app/window/settings.h"
#include "app/window/window_part.h"

class QMenu;

namespace headwise::app {

/// The settings as one window knows them. A change is written at once and applies at once.
class WindowSettings : public WindowPart {
    Q_OBJECT

public:
    WindowSettings(QMainWindow* window, ui::Workspace* workspace);

    const Settings& now() const { return m_settings; }
    void apply() const; ///< Fonts, colours and threads.

    /// Writes a change to disk together with the place of the window, so that it survives however the program ends.
    void keep(const std::function<void(Settings&)>& change = [](Settings&) {});
    void keepFolderOf(const QString& file);
    /// Asks for a folder or a file, where the last one was. Returns it, and keeps its place; empty: none was chosen.
    QString askForFolder(const QString& title);
    QString askForFile(const QString& title, const QString& kinds);
    void rememberRecent(const QString& path); ///< With the card of the open model.
    QString exportFolder() const;

    void setTheme(ui::ThemeMode mode); ///< In all windows.
    void addThemes(QMenu* menu);
    void showPreferences();

signals:
    void
    keeping(headwise::app::Settings* settings); ///< The last chance to add something before they are written.
    void changed();                             ///< In the preferences.
    void recentChanged();
    void themeChanged(headwise::ui::ThemeMode mode);

protected:
    bool eventFilter(QObject* window, QEvent* event) override;

private:
    void change(const Settings& settings);

    Settings m_settings;
    bool m_isSystemAsked = false; // for its theme, which has changed
};

} // namespace headwise::app
