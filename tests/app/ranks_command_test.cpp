#include "tests/support/command.h"
#include "tests/support/program.h"

#include <QDir>
#include <QFile>
#include <QTemporaryDir>
#include <QTest>

using namespace headwise;
using namespace headwise::test;

/// `analyze` and `series` started by mpirun where the module for it is missing. tests/mpi/run has the rest.
class RanksCommandTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase()
    {
        QVERIFY(m_folder.isValid());
        QVERIFY(QFile::copy(HEADWISE_BINARY, program())); // without the module beside it
    }

    void theFirstProcessSaysWhatToDoAndTheOthersNothing()
    {
        const CommandRun first = started(0), second = started(1);
        QCOMPARE(first.exitCode, 2);
        QCOMPARE(second.exitCode, 2);
        QCOMPARE(first.err.count('\n'), 1);
        QVERIFY2(first.err.contains("mpirun started 2 processes") && first.err.contains("--shard 1/2"),
                 first.err);
        QCOMPARE(second.err, QByteArray());
        QVERIFY(!QFile::exists(m_folder.filePath("a.h5")));
    }

    void aShardIsAloneWhoeverStartsIt()
    {
        const CommandRun run = started(1, {"--shard", "1/2"});
        QVERIFY2(run.exitCode == 0, run.err);
        QVERIFY(QFile::exists(m_folder.filePath("a.h5")));
    }

private:
    QString program() const { return m_folder.filePath("headwise"); }

    CommandRun started(int rank, const QStringList& more = {}) const
    {
        QProcess process;
        QProcessEnvironment environment = quietEnvironment(m_folder.path());
        environment.insert("OMPI_COMM_WORLD_RANK", QString::number(rank));
        environment.insert("OMPI_COMM_WORLD_SIZE", "2");
        process.setProcessEnvironment(environment);
        process.start(program(),
                      QStringList{"analyze", HEADWISE_DEMO_MODEL, "-o", m_folder.filePath("a.h5"),
                                  "--analyses", "copying"}
                          + more);
        CommandRun run;
        if (process.waitForFinished(120'000) && process.exitStatus() == QProcess::NormalExit)
            run.exitCode = process.exitCode();
        run.out = process.readAllStandardOutput();
        run.err = process.readAllStandardError();
        return run;
    }

    QTemporaryDir m_folder;
};

HEADWISE_TEST(RanksCommandTest)
#include "ranks_command_test.moc"
