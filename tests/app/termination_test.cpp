#include "app/window/recovery.h"

#include "app/termination.h"
#include "app/window/windows.h"
#include "core/base/log.h"
#include "core/files/file_write.h"
#include "core/session/session_file.h"
#include "tests/support/program.h"
#include "tests/support/window_driver.h"

#include <QDir>
#include <QProcess>
#include <QSemaphore>

#include <csignal>
#include <cstdio>
#include <unistd.h>

using namespace headwise;

namespace {

using test::patience;

/// The program to be ended: a note is typed and, if requested, the disk does not answer.
int runChild(int argc, char** argv)
{
    QApplication application(argc, argv);
    QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, qEnvironmentVariable("XDG_STATE_HOME"));
    QCoreApplication::setOrganizationName(QStringLiteral("headwise-test"));
    QSettings().setValue(QStringLiteral("autosaveMinutes"), 0);
    app::Windows windows(app::Windows::Memory::Kept);
    const app::Termination termination;
    QObject::connect(&termination, &app::Termination::asked, &windows,
                     [&windows](int signal) { windows.saveAndExit(128 + signal); });
    ui::Workspace& workspace = *windows.first()->workspace();
    windows.first()->openPath(QStringLiteral(HEADWISE_DEMO_MODEL));
    if (!QTest::qWaitFor([&] { return workspace.model()->isOpen(); }, patience))
        return 1;
    workspace.notebook()->setNote({1, 5}, QStringLiteral("typed last"));
    const bool isStuck = argc > 2;
    QSemaphore never;
    if (isStuck) {
        ui::detail::jobPool().setMaxThreadCount(1);
        ui::detail::jobPool().start([&never] { never.acquire(); });
    }
    std::puts("ready");
    std::fflush(stdout);
    const int code = QApplication::exec();
    std::_Exit(code);
}

class Environment {
public:
    Environment(const char* name, const QByteArray& value)
        : m_name(name)
        , m_before(qgetenv(name))
    {
        value.isNull() ? qunsetenv(name) : qputenv(name, value);
    }
    ~Environment() { m_before.isNull() ? qunsetenv(m_name) : qputenv(m_name, m_before); }
    Environment(const Environment&) = delete;
    Environment& operator=(const Environment&) = delete;

private:
    const char* m_name;
    QByteArray m_before;
};

bool isPrivate(const std::filesystem::path& folder)
{
    using std::filesystem::perms;
    std::error_code error;
    return (std::filesystem::status(folder, error).permissions() & perms::all) == perms::owner_all;
}

/// Returns the id of a process that has ended.
qint64 endedProcess()
{
    QProcess process;
    process.start(QStringLiteral("sleep"), {QStringLiteral("0")});
    process.waitForStarted();
    const qint64 number = process.processId();
    process.waitForFinished();
    return number;
}

} // namespace

/// The program is ended by a signal and starts again.
class TerminationTest : public QObject {
    Q_OBJECT

private slots:
    void init() { m_folder = std::make_unique<QTemporaryDir>(); }

    void aSignalLeavesARecoveryCopy_data()
    {
        QTest::addColumn<int>("signal");
        QTest::newRow("SIGTERM") << SIGTERM;
        QTest::newRow("SIGHUP") << SIGHUP;
    }

    void aSignalLeavesARecoveryCopy()
    {
        QFETCH(int, signal);
        QProcess child;
        startChild(child, {});
        QCOMPARE(::kill(static_cast<pid_t>(child.processId()), signal), 0);
        QVERIFY(child.waitForFinished(patience));
        QCOMPARE(child.exitStatus(), QProcess::NormalExit);
        QCOMPARE(child.exitCode(), 128 + signal);
        const QDir copies(m_folder->filePath(QStringLiteral("headwise/recovery")));
        const QStringList names = copies.entryList({QStringLiteral("*.h5")});
        QCOMPARE(names.size(), 1);
        const auto session = readSession(copies.filePath(names.first()).toStdString(), {});
        QVERIFY(session && session->notes.at("1.5") == "typed last");
        QVERIFY(isPrivate(m_folder->filePath(QStringLiteral("headwise")).toStdString()));
    }

    void theSecondSignalEndsItAtOnce()
    {
        QProcess child;
        startChild(child, {QStringLiteral("stuck")});
        QElapsedTimer clock;
        clock.start();
        do
            ::kill(static_cast<pid_t>(child.processId()), SIGTERM);
        while (!child.waitForFinished(50) && clock.elapsed() < 15000);
        QCOMPARE(child.state(), QProcess::NotRunning);
        QCOMPARE(child.exitStatus(), QProcess::CrashExit); // by the signal
    }

    void stateIsPrivateWithAndWithoutAHome()
    {
        {
            const Environment home("HOME", m_folder->path().toLocal8Bit()), state("XDG_STATE_HOME", {});
            const QString folder = m_folder->filePath(QStringLiteral(".local/state/headwise"));
            QVERIFY(QDir().mkpath(folder)); // as in an earlier version
            QVERIFY(QFile::setPermissions(folder,
                                          QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner
                                              | QFile::ReadOther | QFile::ExeOther));
            QCOMPARE(stateFolder(), std::filesystem::path(folder.toStdString()));
            QVERIFY(isPrivate(stateFolder()));
        }
        const Environment home("HOME", {}), state("XDG_STATE_HOME", {});
        const std::filesystem::path folder = stateFolder();
        QVERIFY2(folder.string().starts_with("/tmp/headwise-"), folder.c_str());
        QVERIFY(isPrivate(folder));
        QCOMPARE(stateFolder(), folder);
    }

    void whatKilledProcessesLeftIsSwept()
    {
        const std::filesystem::path folder(m_folder->path().toStdString());
        const std::string dead = ".a.h5." + std::to_string(endedProcess()) + "-3.tmp",
                          alive = ".a.h5." + std::to_string(::getpid()) + "-3.tmp", other = ".notes.tmp";
        for (const std::string& name : {dead, alive, other}) {
            QFile file(QString::fromStdString((folder / name).string()));
            QVERIFY(file.open(QIODevice::WriteOnly));
        }
        test::beginWithOwnSettings(*m_folder);
        app::MainWindow window;
        window.keepRecovery(folder);
        QVERIFY(!std::filesystem::exists(folder / dead));
        QVERIFY(std::filesystem::exists(folder / alive));
        QVERIFY(std::filesystem::exists(folder / other));
    }

private:
    void startChild(QProcess& child, const QStringList& more) const
    {
        QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
        environment.insert(QStringLiteral("XDG_STATE_HOME"), m_folder->path());
        child.setProcessEnvironment(environment);
        child.start(QCoreApplication::applicationFilePath(),
                    QStringList{QStringLiteral("termination_test"), QStringLiteral("--child")} + more);
        QVERIFY(child.waitForReadyRead(patience));
    }

    std::unique_ptr<QTemporaryDir> m_folder;
};

namespace {

int runTermination(int argc, char** argv)
{
    if (argc > 1 && std::string_view(argv[1]) == "--child")
        return runChild(argc, argv);
    QApplication application(argc, argv);
    TerminationTest test;
    return QTest::qExec(&test, argc, argv);
}
} // namespace

HEADWISE_TEST_MAIN(TerminationTest, runTermination)
#include "termination_test.moc"
