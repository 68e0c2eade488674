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

Settings readSettings();
void writeSettings(const Settings& settings);
/// Changes the settings after reading them again, because other windows and programs write the same file.
void changeSettings(Settings& settings, const std::function<void(Settings&)>& change);

} // namespace headwise::app
