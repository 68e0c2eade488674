#pragma once

#include "app/window/settings.h"
#include "app/window/window_part.h"

class QMenu;

namespace headwise::app {

/// How a window reads, changes and applies the settings of the program.
class WindowSettings : public WindowPart {
    Q_OBJECT

public:
    WindowSettings(QMainWindow* window, ui::Workspace* workspace);

    const Settings& now() const { return KeptSettings::instance().now(); }
    void apply() const; ///< Fonts, colours and threads.

    /// Keeps a change together with the place of the window, at once, so that it survives however the program ends. Another
    /// thread repeats `change` on what the file says by then, so that it holds values, not references.
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
    void keeping(QByteArray* layout); ///< Asks where docks and tool bars are now.
    void changed();                   ///< In the preferences.
    void recentChanged();
    void themeChanged(headwise::ui::ThemeMode mode);

protected:
    bool eventFilter(QObject* window, QEvent* event) override;

private:
    void change(const Settings& settings);

    bool m_isSystemAsked = false; // for its theme, which has changed
};

} // namespace headwise::app
