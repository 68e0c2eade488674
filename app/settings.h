#pragma once

#include "ui/theme.h"

#include <QByteArray>
#include <QStringList>

namespace headwise::app {

/// What the window remembers between two runs.
struct Settings {
    ui::ThemeMode theme = ui::ThemeMode::System;
    QStringList recentFiles; ///< Newest first, at most ten.
    QByteArray geometry;
    QByteArray layout; ///< Docks and tool bars.
    QString lastFolder;
    QString figure; ///< The last figure settings, as the export dialog writes them.

    bool operator==(const Settings&) const = default;

    void addRecent(const QString& path);
};

Settings readSettings();
void writeSettings(const Settings& settings);

} // namespace headwise::app
