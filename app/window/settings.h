#pragma once

#include "ui/base/color_choice.h"
#include "ui/base/theme.h"
#include "ui/pages/model/start_page.h"

#include <QByteArray>
#include <QStringList>

#include <chrono>
#include <functional>

namespace headwise::app {

/// What the window remembers between two runs.
struct Settings {
    ui::ThemeMode theme = ui::ThemeMode::System;
    QStringList recentFiles;                    ///< Newest first, at most ten.
    QHash<QString, ui::RecentCard> recentCards; ///< Of those of them that were opened.
    QByteArray geometry;
    QByteArray layout; ///< Docks and tool bars.
    QString lastFolder;
    double autosaveMinutes = 3; ///< Between recovery copies; 0: none.
    ui::ColorChoice colors;     ///< Of matrices and of classes of heads.
    QString tokenFont;          ///< A family; empty: as delivered.
    int threads = 0;            ///< Of analyses; 0: one per core.
    QString exportFolder;       ///< Empty: the last one used.
    QString figure;             ///< The last figure settings, as the export dialog writes them.

    bool operator==(const Settings&) const = default;

    void addRecent(const QString& path, const ui::RecentCard& card); ///< Ignores an empty one.
    std::chrono::milliseconds autosaveInterval() const;
};

Settings readSettings();
void writeSettings(const Settings& settings);
/// Reads them again first: other windows and programs keep theirs in the same file.
void changeSettings(Settings& settings, const std::function<void(Settings&)>& change);

} // namespace headwise::app
