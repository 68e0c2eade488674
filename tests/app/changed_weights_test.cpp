#include "tests/support/command.h"

#include "tests/support/program.h"

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QTemporaryDir>
#include <QTest>

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>

#include <sys/inotify.h>
#include <unistd.h>

using namespace headwise::test;

namespace {

namespace fs = std::filesystem;

/// Sees when a model in a folder is opened for reading. Before that a mapping of its weights only looks what kind of file they are: the one
/// that is read from is there when config.json is opened after the weights.
class OpeningWatch {
public:
    OpeningWatch(const QString& weights, const QString& config)
        : m_events(inotify_init1(IN_NONBLOCK | IN_CLOEXEC))
        , m_weights(inotify_add_watch(m_events, QFile::encodeName(weights).constData(), IN_OPEN))
        , m_config(inotify_add_watch(m_events, QFile::encodeName(config).constData(), IN_OPEN))
    {
    }
    ~OpeningWatch() { ::close(m_events); }
    OpeningWatch(const OpeningWatch&) = delete;
    OpeningWatch& operator=(const OpeningWatch&) = delete;

    bool isOpened()
    {
        std::array<inotify_event, 64> events; // of files, so without names
        const ssize_t bytes = ::read(m_events, events.data(), sizeof events);
        for (std::size_t i = 0; bytes > 0 && i < static_cast<std::size_t>(bytes) / sizeof(inotify_event);
             ++i) {
            m_sawWeights = m_sawWeights || events[i].wd == m_weights;
            m_isOpened = m_isOpened || (m_sawWeights && events[i].wd == m_config);
        }
        return m_isOpened;
    }

private:
    int m_events, m_weights, m_config;
    bool m_sawWeights = false, m_isOpened = false;
};

/// Tells whether the process has the file mapped.
bool isReading(qint64 process, const QString& file)
{
    QFile maps(QStringLiteral("/proc/%1/maps").arg(process));
    return maps.open(QIODevice::ReadOnly) && maps.readAll().contains(QFile::encodeName(file));
}

} // namespace

/// A file of weights that another program writes into while a command reads it.
class ChangedWeightsTest : public QObject {
    Q_OBJECT

private slots:
    void init()
    {
        m_folder = std::make_unique<QTemporaryDir>();
        QVERIFY(m_folder->isValid());
        const QString model = m_folder->filePath("model");
        QVERIFY(QDir().mkpath(model));
        for (const QString& name : QDir(HEADWISE_DEMO_MODEL).entryList(QDir::Files))
            QVERIFY(QFile::copy(HEADWISE_DEMO_MODEL "/" + name, model + u'/' + name));
        m_weights = model + QStringLiteral("/model.safetensors");
        fs::permissions(m_weights.toStdString(), fs::perms::owner_write, fs::perm_options::add);
    }

    void endTheCommandAndNothingIsWritten_data()
    {
        QTest::addColumn<QStringList>("command");
        QTest::addColumn<bool>("shrinks");
        for (const bool shrinks : {true, false}) {
            const QByteArray how = shrinks ? ": shrinks" : ": is written into";
            QTest::newRow("process" + how) << QStringList{"process", "MODEL", "-o", "OUT"} << shrinks;
            QTest::newRow("process, own names" + how)
                << QStringList{"process", "MODEL", "-o", "OUT", "--names", "original"} << shrinks;
            QTest::newRow("run" + how)
                << QStringList{"run", "MODEL", "--tokens", "1,2,3", "-o", "OUT"} << shrinks;
            QTest::newRow("verify" + how) << QStringList{"verify", "MODEL"} << shrinks;
            QTest::newRow("analyze" + how) << QStringList{"analyze", "MODEL", "-o", "OUT"} << shrinks;
            QTest::newRow("compare" + how)
                << QStringList{"compare", HEADWISE_DEMO_MODEL, "MODEL", "-o", "OUT"} << shrinks;
            QTest::newRow("tokens" + how)
                << QStringList{"tokens", "MODEL", "--circuit", "full-ov", "--head", "1.5", "--token", "#300"}
                << shrinks;
            QTest::newRow("top" + how)
                << QStringList{"top", "MODEL", "--circuit", "full-ov", "--head", "1.5", "-n", "3"} << shrinks;
            QTest::newRow("info" + how) << QStringList{"info", "MODEL", "--tensors", "--json"} << shrinks;
        }
    }
    void endTheCommandAndNothingIsWritten()
    {
        QFETCH(QStringList, command);
        QFETCH(bool, shrinks);
        command.replaceInStrings(QStringLiteral("MODEL"), m_folder->filePath("model"));
        command.replaceInStrings(QStringLiteral("OUT"), m_folder->filePath("out.h5"));
        QProcess process;
        QVERIFY(stopWhileItReads(process, command));
        if (shrinks) {
            fs::resize_file(m_weights.toStdString(), 200'000);
        } else {
            std::fstream file(m_weights.toStdString(), std::ios::in | std::ios::out | std::ios::binary);
            file.seekp(3'000'000);
            QVERIFY(file.write("\x2a\x2a\x2a\x2a", 4).good());
        }
        ::kill(static_cast<pid_t>(process.processId()), SIGCONT);
        QVERIFY(process.waitForFinished(120'000));
        const QByteArray err = process.readAllStandardError();
        QVERIFY2(process.exitStatus() == QProcess::NormalExit, err);
        QVERIFY2(process.exitCode() == 3 || process.exitCode() == 4, err);
        QVERIFY2(err.contains("model.safetensors changed while it was read"), err);
        QCOMPARE(err.count("headwise: ") - err.count("headwise: warning: "), 1);
        QCOMPARE(process.readAllStandardOutput(), QByteArray());
        QCOMPARE(QDir(m_folder->path()).entryList({"out*", ".out*"}, QDir::AllEntries | QDir::Hidden),
                 QStringList());
    }

    void aFileThatIsReplacedByRenamingIsNotChanged()
    {
        const QString other = m_folder->filePath("other");
        QVERIFY(QFile::copy(m_weights, other));
        QProcess process;
        QVERIFY(stopWhileItReads(process,
                                 {"analyze", m_folder->filePath("model"), "-o", m_folder->filePath("out.h5"),
                                  "--analyses", "copying"}));
        fs::rename(other.toStdString(), m_weights.toStdString());
        ::kill(static_cast<pid_t>(process.processId()), SIGCONT);
        QVERIFY(process.waitForFinished(120'000));
        QVERIFY2(process.exitCode() == 0, process.readAllStandardError());
    }

private:
    /// Starts the command and stops it as soon as it reads the file; starts it again if it was too quick.
    bool stopWhileItReads(QProcess& process, const QStringList& command) const
    {
        for (int attempt = 0; attempt < 50; ++attempt) {
            OpeningWatch model(m_weights, m_folder->filePath("model/config.json"));
            process.setProcessEnvironment(quietEnvironment(m_folder->path()));
            process.start(QStringLiteral(HEADWISE_BINARY), command);
            if (!process.waitForStarted())
                return false;
            const qint64 id = process.processId();
            while (!(model.isOpened() && isReading(id, m_weights)) && !hasEnded(id)) { }
            ::kill(static_cast<pid_t>(id), SIGSTOP);
            if (waitUntilStopped(id) && isReading(id, m_weights) && !hasAnswered(process))
                return true;
            process.kill();
            process.waitForFinished();
            std::error_code code;
            fs::remove_all(m_folder->filePath("out.h5").toStdString(), code);
        }
        return false;
    }

    /// Whether the command has finished reading. Its file stays mapped until it exits, which may be stopped too.
    bool hasAnswered(QProcess& process) const
    {
        return process.waitForReadyRead(0) || QFileInfo::exists(m_folder->filePath("out.h5"));
    }

    static char stateOf(qint64 process)
    {
        QFile stat(QStringLiteral("/proc/%1/stat").arg(process));
        if (!stat.open(QIODevice::ReadOnly))
            return 'X';
        const QByteArray text = stat.readAll();
        return text.mid(text.lastIndexOf(')') + 2).front();
    }
    static bool hasEnded(qint64 process) { return QByteArray("XZ").contains(stateOf(process)); }
    static bool waitUntilStopped(qint64 process)
    {
        while (stateOf(process) != 'T')
            if (hasEnded(process))
                return false;
        return true;
    }

    std::unique_ptr<QTemporaryDir> m_folder;
    QString m_weights;
};

HEADWISE_TEST(ChangedWeightsTest)
#include "changed_weights_test.moc"
