#pragma once

#include "ui/base/color_choice.h"
#include "ui/base/theme.h"
#include "ui/pages/model/start_page.h"

#include <QByteArray>
#include <QStringList>

#include <chrono>
#include <functional>

namespace headwise::app {

/// Settings that the program keeps between runs.
struct Settings {
    ui::ThemeMode theme = ui::ThemeMode::System;
    QStringList recentFiles;                    ///< Newest first, at most ten.
    QHash<QString, ui::RecentCard> recentCards; ///< Cards of the recent files that were opened.
    QByteArray geometry;
    QByteArray layout; ///< Docks and tool bars.
    QString lastFolder;
    double autosaveMinutes = 3; ///< Minutes between recovery copies; 0: no copies.
    ui::ColorChoice colors;     ///< Colours of matrices and of head classes.
    QString tokenFont;          ///< A family; empty: as delivered.
    int threads = 0;            ///< Threads for analyses; 0: one per core.
    QString exportFolder;       ///< Empty: the last one used.
    QString figure;             ///< The last figure settings, as the export dialog writes them.
    QString figurePresets;      ///< The user's figure presets and the last settings of each preset.
    bool tourOffered = false;   ///< Whether the tour was shown once.

    bool operator==(const Settings&) const = default;

    void addRecent(const QString& path, const ui::RecentCard& card); ///< Ignores an empty one.
    std::chrono::milliseconds autosaveInterval() const;
};

Settings readSettings(); ///< From their file, after every change was written.
void writeSettings(const Settings& settings);

/// The settings of all windows. A change holds at once; a thread of its own writes it, because the disk may keep it waiting.
class KeptSettings {
public:
    static KeptSettings& instance();

    const Settings& now() const { return m_now; }
    void readAgain(); ///< From their file, which other programs write too.
    /// Applies `change` now, and in that thread to what the file says by then.
    void change(const std::function<void(Settings&)>& change);

private:
    KeptSettings() = default;

    Settings m_now;
    int m_waiting = 0; // changes that are not written yet
};

} // namespace headwise::app
