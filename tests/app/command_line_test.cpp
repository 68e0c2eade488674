#include "tests/support/command.h"
#include "tests/support/program.h"

#include <QDir>
#include <QSet>
#include <QTemporaryDir>
#include <QTest>

using namespace headwise;

/// Rules for every command: where text goes and how the program exits.
class CommandLineTest : public QObject {
    Q_OBJECT

private slots:
    void helpAndVersionGoToStandardOutput()
    {
        const test::CommandRun help = run({"--help"});
        QCOMPARE(help.exitCode, 0);
        QVERIFY(help.out.contains("headwise [MODEL | SESSION.h5 | SERIES.h5]"));
        QCOMPARE(help.err, QByteArray());
        const test::CommandRun version = run({"--version"});
        QCOMPARE(version.exitCode, 0);
        QVERIFY(version.out.startsWith("headwise 0."));
    }

    /// Comparing means needs to know whether rows of padding count.
    void helpSaysOverWhichColumnsTheUnembeddingIsCentred()
    {
        const QByteArray help = run({"process", "--help"}).out.simplified();
        QVERIFY2(help.contains("over all d_vocab columns, including ids without a token"), help);
    }

    /// Every option says "Prints", none "Print".
    void helpDescribesOptionsInOnePerson()
    {
        static const QSet<QByteArray> orders{
            "Allow", "Check", "Compute",  "Draw",  "Drop",  "Fold",    "Give",     "Include",
            "Keep",  "Leave", "List",     "Match", "Merge", "Move",    "Omit",     "Overwrite",
            "Print", "Put",   "Read",     "Run",   "Save",  "Show",    "Start",    "Store",
            "Skip",  "Split", "Subtract", "Take",  "Use",   "Rewrite", "Describe", "Write"};
        QByteArray all = run({"--help"}).out;
        const QByteArrayList lines = all.mid(all.indexOf("Subcommands:")).split('\n');
        int commands = 0;
        for (const QByteArray& line : lines)
            if (line.startsWith("  ")) {
                all += run({QString::fromLatin1(line.simplified().split(' ').front()), "--help"}).out;
                ++commands;
            }
        QVERIFY(commands > 10);
        int described = 0;
        for (QByteArray line : all.split('\n')) {
            constexpr int column = 30; // of the descriptions
            if (!line.startsWith("  ") || line.size() <= column)
                continue;
            line = line.mid(line[column - 1] == ' ' ? column : 0).simplified();
            ++described;
            QVERIFY2(!orders.contains(line.split(' ').front()), line);
        }
        QVERIFY(described > 100);
    }

    void wrongUsageEndsWithTwoAndOneLine()
    {
        const test::CommandRun wrong = run({"no-such-command"});
        QCOMPARE(wrong.exitCode, 2);
        QCOMPARE(wrong.out, QByteArray());
        QCOMPARE(wrong.err.count('\n'), 1);
        QVERIFY(wrong.err.contains("no-such-command"));
    }

    void theWindowNeedsADisplayAndSaysSo()
    {
        const test::CommandRun window = run({});
        QCOMPARE(window.exitCode, 4);
        QCOMPARE(window.out, QByteArray());
        QVERIFY(window.err.contains("no display; see headwise --help"));
    }

    /// Qt alone would abort here.
    void aDisplayThatCannotBeReachedIsOneLine()
    {
        for (const auto& [name, value] :
             {std::pair("QT_QPA_PLATFORM", "bogus"), std::pair("DISPLAY", ":4077")}) {
            QProcess process;
            QProcessEnvironment environment = test::quietEnvironment(m_state.path());
            environment.insert(name, value);
            process.setProcessEnvironment(environment);
            process.start(QStringLiteral(HEADWISE_BINARY), {"--fresh"});
            QVERIFY(process.waitForFinished());
            const QByteArray err = process.readAllStandardError();
            QVERIFY2(process.exitStatus() == QProcess::NormalExit && process.exitCode() == 4, err);
            QVERIFY2(err.count('\n') == 1 && err.contains(value), err);
        }
    }

    void aSessionThatWasCutOffIsSaidToBeDamaged()
    {
        const QString path = m_state.filePath("cut.h5");
        QCOMPARE(run({"analyze", HEADWISE_DEMO_MODEL, "-o", path, "--analyses", "copying"}).exitCode, 0);
        QVERIFY(QFile::resize(path, 20'000));
        QProcess process;
        QProcessEnvironment environment = test::quietEnvironment(m_state.path());
        environment.insert("QT_QPA_PLATFORM", "offscreen");
        process.setProcessEnvironment(environment);
        process.start(QStringLiteral(HEADWISE_BINARY),
                      {"--fresh", path, "--screenshot", m_state.filePath("cut.png")});
        QVERIFY(process.waitForFinished());
        const QByteArray err = process.readAllStandardError();
        QCOMPARE(process.exitCode(), 3);
        QVERIFY2(err.contains("damaged or incomplete") && !err.contains("HDF5-DIAG"), err);
    }

    void temporaryFoldersOfKilledProcessesAreSwept()
    {
        QProcess ended;
        ended.start("sleep", {"0"});
        QVERIFY(ended.waitForStarted());
        const qint64 number = ended.processId();
        QVERIFY(ended.waitForFinished());
        const QTemporaryDir temporary;
        const QDir folder(temporary.path());
        const QString dead = QString("headwise-%1-AbCdEf").arg(number);
        const QString alive = QString("headwise-%1-AbCdEf").arg(QCoreApplication::applicationPid());
        for (const QString& name : {dead, alive, QString("headwise-notes")})
            QVERIFY(folder.mkpath(name + "/headwise"));
        QProcess process;
        QProcessEnvironment environment = test::quietEnvironment(m_state.path());
        environment.insert("QT_QPA_PLATFORM", "offscreen");
        environment.insert("TMPDIR", temporary.path());
        process.setProcessEnvironment(environment);
        process.start(QStringLiteral(HEADWISE_BINARY),
                      {"--fresh", HEADWISE_DEMO_MODEL, "--screenshot", m_state.filePath("swept.png")});
        QVERIFY(process.waitForFinished(120'000));
        QCOMPARE(process.exitCode(), 0);
        QVERIFY(!folder.exists(dead));
        QVERIFY(folder.exists(alive));
        QVERIFY(folder.exists("headwise-notes"));
    }

    void helpThatCannotBeWrittenIsAnError()
    {
        for (const QString& what : {QString("--help"), QString("--version")}) {
            QProcess process;
            process.setProcessEnvironment(test::quietEnvironment(m_state.path()));
            process.setStandardOutputFile("/dev/full");
            process.start(QStringLiteral(HEADWISE_BINARY), {what});
            QVERIFY(process.waitForFinished());
            QCOMPARE(process.exitCode(), 4);
            QCOMPARE(process.readAllStandardError().count('\n'), 1);
        }
    }

    void anEmptyNameOfTheFolderToWriteIsWrongUsage()
    {
        const test::CommandRun written = run({"process", HEADWISE_DEMO_MODEL, "-o", ""});
        QCOMPARE(written.exitCode, 2);
        QCOMPARE(written.err.count('\n'), 1);
    }

private:
    test::CommandRun run(const QStringList& arguments) const
    {
        return test::runHeadwise(arguments, m_state.path());
    }

    QTemporaryDir m_state;
};

HEADWISE_TEST(CommandLineTest)
#include "command_line_test.moc"
