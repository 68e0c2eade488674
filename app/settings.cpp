#include "app/settings.h"

#include <QSettings>

#include <algorithm>

namespace headwise::app {

namespace {
constexpr int recentLimit = 10;
constexpr int mostThreads = 1024;
constexpr double longestPause = 24.0 * 60; // minutes
} // namespace

void Settings::addRecent(const QString& path)
{
    if (path.isEmpty())
        return;
    recentFiles.removeAll(path);
    recentFiles.prepend(path);
    while (recentFiles.size() > recentLimit)
        recentFiles.removeLast();
}

std::chrono::milliseconds Settings::autosaveInterval() const
{
    return std::chrono::milliseconds(static_cast<qint64>(autosaveMinutes * 60'000));
}

Settings readSettings()
{
    const QSettings store;
    Settings settings;
    const QString theme = store.value(QStringLiteral("theme")).toString();
    settings.theme = theme == QLatin1String("light") ? ui::ThemeMode::Light
        : theme == QLatin1String("dark")             ? ui::ThemeMode::Dark
                                                     : ui::ThemeMode::System;
    settings.recentFiles = store.value(QStringLiteral("recentFiles")).toStringList();
    settings.geometry = store.value(QStringLiteral("geometry")).toByteArray();
    settings.layout = store.value(QStringLiteral("layout")).toByteArray();
    settings.lastFolder = store.value(QStringLiteral("lastFolder")).toString();
    const double minutes =
        store.value(QStringLiteral("autosaveMinutes"), settings.autosaveMinutes).toDouble();
    if (minutes >= 0 && minutes <= longestPause) // not what a damaged file says
        settings.autosaveMinutes = minutes;
    const std::string map = store.value(QStringLiteral("sequentialColors")).toString().toStdString();
    for (const ColorMap choice : ui::sequentialMaps)
        if (map == mapName(choice))
            settings.colors.sequential = choice;
    settings.colors.redIsNegative = store.value(QStringLiteral("redIsNegative")).toBool();
    settings.tokenFont = store.value(QStringLiteral("tokenFont")).toString();
    settings.threads = std::clamp(store.value(QStringLiteral("threads")).toInt(), 0, mostThreads);
    settings.exportFolder = store.value(QStringLiteral("exportFolder")).toString();
    settings.figure = store.value(QStringLiteral("figure")).toString();
    return settings;
}

void writeSettings(const Settings& settings)
{
    QSettings store;
    const char* theme = settings.theme == ui::ThemeMode::Light ? "light"
        : settings.theme == ui::ThemeMode::Dark                ? "dark"
                                                               : "system";
    store.setValue(QStringLiteral("theme"), QLatin1String(theme));
    store.setValue(QStringLiteral("recentFiles"), settings.recentFiles);
    store.setValue(QStringLiteral("geometry"), settings.geometry);
    store.setValue(QStringLiteral("layout"), settings.layout);
    store.setValue(QStringLiteral("lastFolder"), settings.lastFolder);
    store.setValue(QStringLiteral("autosaveMinutes"), settings.autosaveMinutes);
    const std::string_view map = mapName(settings.colors.sequential);
    store.setValue(QStringLiteral("sequentialColors"), QString::fromLatin1(map.data(), std::ssize(map)));
    store.setValue(QStringLiteral("redIsNegative"), settings.colors.redIsNegative);
    store.setValue(QStringLiteral("tokenFont"), settings.tokenFont);
    store.setValue(QStringLiteral("threads"), settings.threads);
    store.setValue(QStringLiteral("exportFolder"), settings.exportFolder);
    store.setValue(QStringLiteral("figure"), settings.figure);
}

} // namespace headwise::app
