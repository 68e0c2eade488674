#pragma once

#include <QProcess>
#include <QProcessEnvironment>
#include <QStringList>

namespace headwise::test {

struct CommandRun {
    int exitCode = -1; ///< -1: it crashed, or did not end within the time
    QByteArray out;
    QByteArray err;
};

/// Runs the built `headwise` as a user without a display would, its log kept away from the user's own.
inline CommandRun runHeadwise(const QStringList& arguments, const QString& stateFolder)
{
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    for (const char* name : {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"})
        environment.remove(QLatin1String(name));
    environment.insert("XDG_STATE_HOME", stateFolder);
    environment.insert("XDG_CONFIG_HOME", stateFolder);
    QProcess process;
    process.setProcessEnvironment(environment);
    process.start(HEADWISE_BINARY, arguments);
    CommandRun run;
    if (process.waitForFinished(120'000) && process.exitStatus() == QProcess::NormalExit)
        run.exitCode = process.exitCode();
    run.out = process.readAllStandardOutput();
    run.err = process.readAllStandardError();
    return run;
}

} // namespace headwise::test
