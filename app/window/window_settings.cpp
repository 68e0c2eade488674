#include "app/window/window_settings.h"

#include "app/window/preferences_dialog.h"
#include "ui/base/text.h"
#include "ui/base/token_font.h"

#include <QActionGroup>
#include <QApplication>
#include <QDir>
#include <QEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QMenu>
#include <QTimer>

#include <array>
#include <utility>

namespace headwise::app {

using namespace headwise::ui;

WindowSettings::WindowSettings(QMainWindow* window, Workspace* workspace)
    : WindowPart(window, workspace)
{
    KeptSettings::instance().readAgain();
    window->installEventFilter(this);
    connect(&ColorNews::instance(), &ColorNews::classColorChanged, this,
            [this](const QString& name, const QColor& color) {
                keep([name, color](Settings& settings) { settings.colors.setClass(name, color); });
            });
}

void WindowSettings::apply() const
{
    setTokenFontFamily(now().tokenFont);
    setColorChoice(now().colors);
    for (Job* job : {m_workspace->opener()->job(), m_workspace->model()->tokenReader()->job(),
                     m_workspace->runs()->job()})
        job->setThreads(now().threads);
}

void WindowSettings::keep(const std::function<void(Settings&)>& change)
{
    QByteArray layout = now().layout;
    emit keeping(&layout);
    const QByteArray geometry = m_window->isVisible() ? m_window->saveGeometry() : now().geometry;
    KeptSettings::instance().change([layout, geometry, change](Settings& settings) {
        settings.layout = layout;
        settings.geometry = geometry;
        change(settings);
    });
}

void WindowSettings::keepFolderOf(const QString& file)
{
    keep([folder = QFileInfo(file).path()](Settings& settings) { settings.lastFolder = folder; });
}

QString WindowSettings::askForFolder(const QString& title)
{
    QString folder = QFileDialog::getExistingDirectory(m_window, title, now().lastFolder);
    if (!folder.isEmpty())
        keepFolderOf(folder);
    return folder;
}

QString WindowSettings::askForFile(const QString& title, const QString& kinds)
{
    QString file = QFileDialog::getOpenFileName(m_window, title, now().lastFolder, kinds);
    if (!file.isEmpty())
        keepFolderOf(file);
    return file;
}

void WindowSettings::rememberRecent(const QString& path)
{
    const ModelCard& card = m_workspace->model()->card();
    const RecentCard recent{card.nLayers, card.nHeads, card.dModel, text(card.architecture),
                            QDate::currentDate()};
    keep([path, recent](Settings& settings) { settings.addRecent(path, recent); });
    emit recentChanged();
}

QString WindowSettings::exportFolder() const
{
    if (!now().exportFolder.isEmpty() && QDir(now().exportFolder).exists())
        return now().exportFolder;
    return now().lastFolder.isEmpty() ? QDir::homePath() : now().lastFolder;
}

void WindowSettings::setTheme(ThemeMode mode)
{
    keep([mode](Settings& settings) { settings.theme = mode; });
    applyTheme(*qApp, mode);
    for (const QWidget* top : QApplication::topLevelWidgets())
        if (auto* other = top->findChild<WindowSettings*>(QString(), Qt::FindDirectChildrenOnly))
            emit other->themeChanged(mode);
}

void WindowSettings::addThemes(QMenu* menu)
{
    auto* themes = new QActionGroup(this);
    const std::array<std::pair<ThemeMode, QString>, 4> modes{
        {{ThemeMode::System, tr("Follow the &system")},
         {ThemeMode::Light, tr("&Light")},
         {ThemeMode::Dark, tr("&Dark")},
         {ThemeMode::HighContrast, tr("Hi&gh contrast")}}};
    for (const auto& [mode, name] : modes) {
        QAction* choice = menu->addAction(name, this, [this, mode = mode] { setTheme(mode); });
        choice->setData(static_cast<int>(mode));
        choice->setCheckable(true);
        choice->setChecked(mode == now().theme);
        choice->setObjectName(QStringLiteral("theme"));
        themes->addAction(choice);
        connect(this, &WindowSettings::themeChanged, choice,
                [choice, mode = mode](ThemeMode now) { choice->setChecked(mode == now); });
    }
}

void WindowSettings::showPreferences()
{
    auto* dialog = new PreferencesDialog(now(), m_window);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &PreferencesDialog::changed, this, &WindowSettings::change);
    dialog->open();
}

void WindowSettings::change(const Settings& settings)
{
    const bool otherTheme = settings.theme != now().theme || settings.tokenFont != now().tokenFont;
    // The dialog began with older settings, so only its own settings are taken over.
    keep([settings](Settings& kept) {
        kept.tokenFont = settings.tokenFont;
        kept.autosaveMinutes = settings.autosaveMinutes;
        kept.threads = settings.threads;
        kept.exportFolder = settings.exportFolder;
        kept.colors.sequential = settings.colors.sequential;
        kept.colors.redIsNegative = settings.colors.redIsNegative;
    });
    apply();
    if (otherTheme)
        setTheme(settings.theme);
    emit changed();
}

bool WindowSettings::eventFilter(QObject* window, QEvent* event)
{
    // Qt sends this when a desktop turns dark. Our own palettes send ApplicationPaletteChange alone, so that this does not
    // answer itself. Asking for the system's palette sets one, so it is asked later and once for all windows.
    if (event->type() == QEvent::ThemeChange && !std::exchange(m_isSystemAsked, true))
        QTimer::singleShot(0, this, [this] {
            m_isSystemAsked = false;
            const bool follows = now().theme == ThemeMode::System;
            if (follows && systemIsDark() != themeColors(QApplication::palette()).dark)
                applyTheme(*qApp, ThemeMode::System);
        });
    return QObject::eventFilter(window, event);
}

} // namespace headwise::app
