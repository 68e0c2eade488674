#include "app/settings.h"

#include <QSettings>

namespace headwise::app {

namespace {
constexpr int recentLimit = 10;
}

void Settings::addRecent(const QString& path)
{
    recentFiles.removeAll(path);
    recentFiles.prepend(path);
    while (recentFiles.size() > recentLimit)
        recentFiles.removeLast();
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
    store.setValue(QStringLiteral("figure"), settings.figure);
}

} // namespace headwise::app
