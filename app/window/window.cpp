#include "app/window/window.h"

#include "app/commands/support.h"
#include "app/screenshot.h"
#include "app/termination.h"
#include "app/window/main_window.h"
#include "app/window/remote.h"
#include "app/window/settings.h"
#include "app/window/windows.h"
#include "core/base/log.h"
#include "core/files/file_write.h"
#include "ui/base/job.h"
#include "ui/base/text.h"

#include <QApplication>
#include <QDir>
#include <QFileInfo>
#include <QRegularExpression>
#include <QSettings>
#include <QTemporaryDir>

#include <cstdlib>
#include <unistd.h>

namespace headwise::app {
namespace {

constexpr const char* desktopId = "org.headwise.Headwise";

void introduce()
{
    QCoreApplication::setApplicationName(QStringLiteral("headwise"));
    QCoreApplication::setOrganizationName(QStringLiteral("headwise"));
    QCoreApplication::setApplicationVersion(ui::text(versionText()));
    QGuiApplication::setApplicationDisplayName(QStringLiteral("Headwise"));
    // Task bars find the desktop entry by this name on Wayland, and by the window class (StartupWMClass) on X11.
    QGuiApplication::setDesktopFileName(QLatin1String(desktopId));
    if (!qEnvironmentVariableIsSet("RESOURCE_NAME"))
        qputenv("RESOURCE_NAME", desktopId);
    QGuiApplication::setHighDpiScaleFactorRoundingPolicy(Qt::HighDpiScaleFactorRoundingPolicy::PassThrough);
}

RemoteRequest localRequest(const WindowRequest& request)
{
    RemoteRequest local{.display = {}, .toOpen = {}, .address = request.address};
    for (const std::filesystem::path& path : request.toOpen)
        local.toOpen << QFileInfo(ui::text(path.string())).absoluteFilePath();
    if (local.address)
        local.address->model =
            QFileInfo(ui::text(local.address->model.string())).absoluteFilePath().toStdString();
    return local;
}

int show(const WindowRequest& request)
{
    Windows windows(request.fresh ? Windows::Memory::Fresh : Windows::Memory::Kept);
    MainWindow* window = windows.first();
    if (const auto done = windows.handle(localRequest(request)); !done) {
        printError(done.error().message);
        return exitCode(done.error().code);
    }
    if (!request.screenshot.empty())
        new Screenshot(window, ui::text(request.screenshot.string())); // The window owns it.
    std::unique_ptr<RemoteServer> server;
    if (!request.fresh && request.screenshot.empty())
        server = std::make_unique<RemoteServer>(
            [&windows](const RemoteRequest& asked) { return windows.handle(asked); });
    const Termination termination;
    QObject::connect(&termination, &Termination::asked, &windows,
                     [&windows](int signal) { windows.saveAndExit(128 + signal); });
    return QApplication::exec();
}

/// "/tmp/headwise-1234-XXXXXX": the process is in the name, so that the next one knows whose it was.
QString temporaryFolderName()
{
    return QStringLiteral("%1/headwise-%2-XXXXXX")
        .arg(QDir::tempPath())
        .arg(QCoreApplication::applicationPid());
}

/// Removes the temporary folders of processes of this user that were killed.
void sweepTemporaryFolders()
{
    static const QRegularExpression name(QStringLiteral("^headwise-(\\d+)-[A-Za-z0-9]{6}$"));
    for (const QFileInfo& folder :
         QDir(QDir::tempPath())
             .entryInfoList({QStringLiteral("headwise-*")}, QDir::Dirs | QDir::NoSymLinks)) {
        const auto match = name.match(folder.fileName());
        if (match.hasMatch() && folder.ownerId() == geteuid() && hasEnded(match.captured(1).toInt()))
            QDir(folder.absoluteFilePath()).removeRecursively();
    }
}

/// While Qt starts. What it has to say goes into the log; where it gives up, which would abort, one line says so.
void logQtStart(QtMsgType type, const QMessageLogContext&, const QString& message)
{
    (type == QtDebugMsg || type == QtInfoMsg ? logDebug : logWarning)("Qt: " + message.toStdString());
    if (type != QtFatalMsg)
        return;
    std::string tried;
    for (const char* name : {"QT_QPA_PLATFORM", "WAYLAND_DISPLAY", "DISPLAY"})
        if (qEnvironmentVariableIsSet(name))
            tried += (tried.empty() ? "" : ", ") + std::string(name) + "="
                + qEnvironmentVariable(name).toStdString();
    printError("The window cannot open a display with " + tried + "; see headwise --help.");
    flushLog();
    std::_Exit(exitCode(ErrorCode::Io));
}

} // namespace

std::optional<int> runElsewhere(const WindowRequest& request)
{
    const std::optional<Result<Done>> done = passToRunningWindow(request);
    if (!done)
        return std::nullopt;
    if (*done)
        return 0;
    printError(done->error().message);
    return exitCode(done->error().code);
}

int runWindow(int& argc, char** argv, const WindowRequest& request)
{
    introduce();
    // With `fresh`, the settings come from an empty temporary folder that is removed at the end.
    sweepTemporaryFolders();
    const QTemporaryDir nowhere(temporaryFolderName());
    if (request.fresh)
        for (const QSettings::Scope scope : {QSettings::UserScope, QSettings::SystemScope})
            QSettings::setPath(QSettings::NativeFormat, scope, nowhere.path());
    int code = 0;
    {
        const QtMessageHandler usual = qInstallMessageHandler(logQtStart);
        QApplication application(argc, argv);
        qInstallMessageHandler(usual);
        ui::applyTheme(application, readSettings().theme);
        code = show(request);
    }
    // A job that cannot be interrupted may still run. Nothing needs its result any more, so the process ends without it.
    if (!ui::waitForJobs(std::chrono::seconds(2)))
        std::_Exit(code);
    return code;
}

} // namespace headwise::app
