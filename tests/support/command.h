#pragma once

#include <QProcess>
#include <QProcessEnvironment>
#include <QStringList>

#include <functional>

namespace headwise::test {

struct CommandRun {
    int exitCode = -1; ///< -1: it crashed, or did not end within the time
    QByteArray out;
    QByteArray err;
};

/// The environment of a user without a display, with the log in a folder of its own.
inline QProcessEnvironment quietEnvironment(const QString& stateFolder)
{
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    for (const char* name : {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM", "XDG_RUNTIME_DIR"})
        environment.remove(QLatin1String(name));
    environment.insert(QStringLiteral("XDG_STATE_HOME"), stateFolder);
    environment.insert(QStringLiteral("XDG_CONFIG_HOME"), stateFolder);
    return environment;
}

/// Runs the built `headwise` like a user without a display.
/// \param folder  working folder; "": the current one
/// \param inChild runs in the new process before it becomes headwise, for example to set limits
inline CommandRun runHeadwise(const QStringList& arguments, const QString& stateFolder,
                              const QString& folder = {}, const std::function<void()>& inChild = {})
{
    QProcess process;
    process.setProcessEnvironment(quietEnvironment(stateFolder));
    process.setWorkingDirectory(folder);
    if (inChild)
        process.setChildProcessModifier(inChild);
    process.start(QStringLiteral(HEADWISE_BINARY), arguments);
    CommandRun run;
    if (process.waitForFinished(120'000) && process.exitStatus() == QProcess::NormalExit)
        run.exitCode = process.exitCode();
    run.out = process.readAllStandardOutput();
    run.err = process.readAllStandardError();
    return run;
}

} // namespace headwise::test
