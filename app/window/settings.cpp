#include "app/window/settings.h"

#include <QCoreApplication>
#include <QSettings>
#include <QThreadPool>
#include <QVariantMap>

#include <algorithm>
#include <array>

namespace headwise::app {

namespace {
constexpr int recentLimit = 10;
constexpr int mostThreads = 1024;
constexpr double longestPause = 24.0 * 60; // minutes

constexpr std::array<std::pair<ui::ThemeMode, const char*>, 4> themeNames{
    {{ui::ThemeMode::System, "system"},
     {ui::ThemeMode::Light, "light"},
     {ui::ThemeMode::Dark, "dark"},
     {ui::ThemeMode::HighContrast, "high-contrast"}}};

QVariantMap mapOf(const QHash<QString, ui::RecentCard>& cards)
{
    QVariantMap map;
    for (auto card = cards.begin(); card != cards.end(); ++card)
        map[card.key()] = QVariantList{card->layers, card->heads, card->dModel, card->kind, card->opened};
    return map;
}

/// Returns the complete cards.
QHash<QString, ui::RecentCard> cardsOf(const QVariantMap& map)
{
    QHash<QString, ui::RecentCard> cards;
    for (auto entry = map.begin(); entry != map.end(); ++entry) {
        const QVariantList values = entry->toList();
        if (values.size() != 5)
            continue;
        const ui::RecentCard card{values[0].toInt(), values[1].toInt(), values[2].toInt(),
                                  values[3].toString(), values[4].toDate()};
        if (card.layers > 0 && card.heads > 0 && card.dModel > 0 && card.opened.isValid())
            cards[entry.key()] = card;
    }
    return cards;
}

QVariantMap mapOf(const QMap<QString, QColor>& colors)
{
    QVariantMap map;
    for (auto color = colors.begin(); color != colors.end(); ++color)
        map[color.key()] = color->name();
    return map;
}

/// Returns the entries that are valid colours.
QMap<QString, QColor> classColorsOf(const QVariantMap& map)
{
    QMap<QString, QColor> colors;
    for (auto entry = map.begin(); entry != map.end(); ++entry)
        if (const QColor color(entry->toString()); color.isValid())
            colors[entry.key()] = color;
    return colors;
}

/// Returns the one thread that writes settings. The program does not end before it has.
QThreadPool& writer()
{
    static QThreadPool* const pool = [] {
        auto* created = new QThreadPool; // leaked on purpose: the application's end waits for it
        created->setMaxThreadCount(1);
        qAddPostRoutine([] { writer().waitForDone(); });
        return created;
    }();
    return *pool;
}
} // namespace

void Settings::addRecent(const QString& path, const ui::RecentCard& card)
{
    if (path.isEmpty())
        return;
    recentFiles.removeAll(path);
    recentFiles.prepend(path);
    recentCards[path] = card;
    while (recentFiles.size() > recentLimit)
        recentCards.remove(recentFiles.takeLast());
}

std::chrono::milliseconds Settings::autosaveInterval() const
{
    return std::chrono::milliseconds(static_cast<qint64>(autosaveMinutes * 60'000));
}

namespace {
Settings settingsInFile()
{
    const QSettings store;
    Settings settings;
    const QString theme = store.value(QStringLiteral("theme")).toString();
    for (const auto& [mode, name] : themeNames)
        if (theme == QLatin1String(name))
            settings.theme = mode;
    settings.recentFiles = store.value(QStringLiteral("recentFiles")).toStringList();
    settings.recentCards = cardsOf(store.value(QStringLiteral("recentCards")).toMap());
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
    settings.colors.classes = classColorsOf(store.value(QStringLiteral("classColors")).toMap());
    settings.tokenFont = store.value(QStringLiteral("tokenFont")).toString();
    settings.threads = std::clamp(store.value(QStringLiteral("threads")).toInt(), 0, mostThreads);
    settings.exportFolder = store.value(QStringLiteral("exportFolder")).toString();
    settings.figure = store.value(QStringLiteral("figure")).toString();
    settings.figurePresets = store.value(QStringLiteral("figurePresets")).toString();
    settings.tourOffered = store.value(QStringLiteral("tourOffered")).toBool();
    return settings;
}
} // namespace

Settings readSettings()
{
    writer().waitForDone();
    return settingsInFile();
}

void writeSettings(const Settings& settings)
{
    QSettings store;
    for (const auto& [mode, name] : themeNames)
        if (settings.theme == mode)
            store.setValue(QStringLiteral("theme"), QLatin1String(name));
    store.setValue(QStringLiteral("recentFiles"), settings.recentFiles);
    store.setValue(QStringLiteral("recentCards"), mapOf(settings.recentCards));
    store.setValue(QStringLiteral("geometry"), settings.geometry);
    store.setValue(QStringLiteral("layout"), settings.layout);
    store.setValue(QStringLiteral("lastFolder"), settings.lastFolder);
    store.setValue(QStringLiteral("autosaveMinutes"), settings.autosaveMinutes);
    const std::string_view map = mapName(settings.colors.sequential);
    store.setValue(QStringLiteral("sequentialColors"), QString::fromLatin1(map.data(), std::ssize(map)));
    store.setValue(QStringLiteral("redIsNegative"), settings.colors.redIsNegative);
    store.setValue(QStringLiteral("classColors"), mapOf(settings.colors.classes));
    store.setValue(QStringLiteral("tokenFont"), settings.tokenFont);
    store.setValue(QStringLiteral("threads"), settings.threads);
    store.setValue(QStringLiteral("exportFolder"), settings.exportFolder);
    store.setValue(QStringLiteral("figure"), settings.figure);
    store.setValue(QStringLiteral("figurePresets"), settings.figurePresets);
    store.setValue(QStringLiteral("tourOffered"), settings.tourOffered);
}

KeptSettings& KeptSettings::instance()
{
    static KeptSettings settings;
    return settings;
}

void KeptSettings::readAgain()
{
    m_now = readSettings();
}

void KeptSettings::change(const std::function<void(Settings&)>& change)
{
    change(m_now);
    ++m_waiting;
    writer().start([this, change] {
        Settings settings = settingsInFile();
        change(settings);
        writeSettings(settings);
        QMetaObject::invokeMethod(
            qApp,
            [this, settings] {
                if (--m_waiting == 0)
                    m_now = settings;
            },
            Qt::QueuedConnection);
    });
}

} // namespace headwise::app
