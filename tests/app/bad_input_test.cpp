#include "tests/app/bad_input_cases.h"
#include "tests/support/command.h"
#include "tests/support/program.h"

#include <QTemporaryDir>
#include <QTest>

#include <csignal>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace headwise;
using namespace headwise::test::bad_input;

/// Faults outside the program end with one sentence that names the cause, the right exit code, and unchanged old files.
class BadInputTest : public QObject {
    Q_OBJECT

private:
    QTemporaryDir m_state;
    std::unique_ptr<QTemporaryDir>
        m_folder; ///< holds "model", a copy of the demo, and "demo.h5", its session
    QTemporaryDir m_made;

    test::CommandRun run(const QStringList& arguments, const std::function<void()>& inChild = {}) const
    {
        return test::runHeadwise(arguments, m_state.path(), m_folder->path(), inChild);
    }
    QString file(const QString& name) const { return m_folder->filePath(name); }
    QStringList names() const
    {
        return QDir(m_folder->path())
            .entryList(QDir::AllEntries | QDir::Hidden | QDir::System | QDir::NoDotAndDotDot);
    }

private slots:
    void initTestCase()
    {
        const test::CommandRun made =
            test::runHeadwise({"analyze", HEADWISE_DEMO_MODEL, "-o", m_made.filePath("demo.h5"), "--analyses",
                               "copying,tables", "--heads", "1.5"},
                              m_state.path());
        QVERIFY2(made.exitCode == 0, made.err);
    }

    void init()
    {
        m_folder = std::make_unique<QTemporaryDir>();
        QVERIFY(QDir(m_folder->path()).mkdir("model") && QDir(m_folder->path()).mkdir("full"));
        for (const char* name : {"config.json", "model.safetensors", "tokenizer.json"})
            QVERIFY(QFile::copy(QString(HEADWISE_DEMO_MODEL) + "/" + name, file(QString("model/") + name)));
        QVERIFY(QFile::copy(m_made.filePath("demo.h5"), file("demo.h5")));
    }

    void endsInOneSentenceThatNamesTheCulprit_data()
    {
        QTest::addColumn<int>("index");
        const auto all = cases();
        for (std::size_t i = 0; i < all.size(); ++i)
            QTest::newRow(all[i].name) << static_cast<int>(i);
    }
    void endsInOneSentenceThatNamesTheCulprit()
    {
        QFETCH(int, index);
        const Case tried = cases()[static_cast<std::size_t>(index)];
        tried.damage(QDir(file("model")));
        const QStringList before = names();
        const QByteArray session = contentOf(file("demo.h5"));
        const QByteArray weights = contentOf(file("model/model.safetensors"));
        const test::CommandRun ended = run(tried.arguments);
        QVERIFY2(ended.exitCode == tried.exitCode, ended.err);
        const QByteArray& said = tried.exitCode == 0 ? ended.out : ended.err;
        QVERIFY2(said.contains(tried.part), said);
        if (tried.exitCode == 0)
            return;
        QVERIFY2(ended.err.count('\n') == 1 && ended.err.startsWith("headwise: ")
                     && ended.err.endsWith(".\n"),
                 ended.err);
        QCOMPARE(ended.out, QByteArray());
        QCOMPARE(names(), before); // nothing half-written remains
        QCOMPARE(contentOf(file("model/model.safetensors")), weights);
        QCOMPARE(contentOf(file("demo.h5")), session);
    }

    void aFullDiskLeavesTheOldFilesAndNothingElse_data()
    {
        QTest::addColumn<QStringList>("arguments");
        QTest::newRow("analyze") << QStringList{"analyze", "model", "-o", "demo.h5", "--replace"};
        QTest::newRow("run") << QStringList{"run",      "model", "--tokens", "1",
                                            "--greedy", "99",    "-o",       "demo.h5"};
        QTest::newRow("process") << QStringList{"process", "model", "-o", "processed"};
        QTest::newRow("process --force") << QStringList{"process", "model", "-o", "full", "--force"};
        QTest::newRow("export") << QStringList{"export", "demo.h5", "--view", "tokens-ov",
                                               "--head", "1.5",     "-o",     "a.csv"};
    }
    void aFullDiskLeavesTheOldFilesAndNothingElse()
    {
        QFETCH(QStringList, arguments);
        write(file("full/config.json"), "{}");
        write(file("a.csv"), "old");
        const QStringList before = names();
        const QByteArray session = contentOf(file("demo.h5"));
        const test::CommandRun ended = run(arguments, [] {
            // File size in bytes: less than any of these commands needs, more than the process that reads HDF5 does.
            const rlimit limit{250'000, 250'000};
            ::setrlimit(RLIMIT_FSIZE, &limit);
        });
        QVERIFY2(ended.exitCode == 4, ended.err);
        QVERIFY2(ended.err.count('\n') == 1 && ended.err.contains("free some space"), ended.err);
        QVERIFY2(!ended.err.contains(".tmp"), ended.err); // names the requested file
        QCOMPARE(names(), before);
        QCOMPARE(QDir(file("full")).entryList(QDir::AllEntries | QDir::Hidden | QDir::NoDotAndDotDot),
                 QStringList{"config.json"});
        QCOMPARE(contentOf(file("demo.h5")), session);
        QCOMPARE(contentOf(file("a.csv")), QByteArray("old"));
    }

    /// Runs as an ordinary user, because root may do everything.
    void aFolderThatMayNotBeReadIsNotOneWithoutAConfig()
    {
        const QString model = file("model");
        for (const mode_t mode : {0000, 0600, 0100}) {
            if (mode == 0100)
                QVERIFY(QFile::remove(model + "/config.json")); // may be entered but not listed
            QCOMPARE(::chmod(qPrintable(model), mode), 0);
            QCOMPARE(::chmod(qPrintable(m_folder->path()), 0711), 0);
            const bool isRoot = ::geteuid() == 0;
            if (isRoot)
                QCOMPARE(::chown(qPrintable(model), 65534, 65534), 0);
            const test::CommandRun ended = run({"info", model}, [isRoot] {
                if (isRoot && (::setgid(65534) != 0 || ::setuid(65534) != 0))
                    ::_exit(99);
            });
            ::chmod(qPrintable(model), 0700);
            QVERIFY2(ended.exitCode == 4, ended.err);
            QVERIFY2(ended.err.contains("cannot be read: Permission denied"), ended.err);
            QCOMPARE(ended.err.count('\n'), 1);
        }
    }

    void closedStandardStreamsAreNotMixedUpWithFiles()
    {
        const QStringList analyzed{"analyze", "model", "-o", "out.h5", "--analyses", "copying"};
        QCOMPARE(run(analyzed,
                     [] {
                         ::close(1);
                         ::close(2);
                     })
                     .exitCode,
                 0);
        QCOMPARE(run({"export", "out.h5", "--view", "copying", "-o", "a.csv"}).exitCode, 0);
        // The log is the file that is open longest.
        QVERIFY(!contentOf(m_state.filePath("headwise/headwise.log")).contains("Wrote out.h5"));
    }

    void interruptingAnAnalysisLeavesTheOldSession()
    {
        const QStringList before = names();
        const QByteArray session = contentOf(file("demo.h5"));
        QProcess process;
        process.setWorkingDirectory(m_folder->path());
        process.setProcessEnvironment(test::quietEnvironment(m_state.path()));
        // One thread and float64 take some seconds; the first line of progress marks the beginning.
        process.start(HEADWISE_BINARY,
                      {"analyze", "model", "-o", "demo.h5", "--replace", "--precision", "f64", "--threads",
                       "1", "--progress"});
        process.setReadChannel(QProcess::StandardError);
        QVERIFY(process.waitForReadyRead(60'000));
        ::kill(static_cast<pid_t>(process.processId()), SIGINT);
        QVERIFY(process.waitForFinished(60'000));
        QCOMPARE(process.exitStatus(), QProcess::NormalExit);
        QCOMPARE(process.exitCode(), 130);
        QVERIFY(process.readAllStandardError().endsWith("cancelled.\n"));
        QCOMPARE(names(), before);
        QCOMPARE(contentOf(file("demo.h5")), session);
    }
};

HEADWISE_TEST(BadInputTest)
#include "bad_input_test.moc"
