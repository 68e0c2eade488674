#include "tests/support/command.h"

#include "tests/support/program.h"

#include <QElapsedTimer>
#include <QFile>
#include <QTemporaryDir>
#include <QTest>

#include <sys/resource.h>

using namespace headwise::test;

/// `headwise analyze` with a limited address space.
class AddressSpaceTest : public QObject {
    Q_OBJECT

private slots:
    void everyLimitEndsWithAnAnswerOrASentence_data()
    {
        QTest::addColumn<int>("megabytes");
        for (const int megabytes :
             {100, 200, 300, 350, 400, 450, 500, 550, 600, 700, 800, 1000, 1300, 1700, 2500, 4000})
            QTest::addRow("%d MB", megabytes) << megabytes;
    }
    void everyLimitEndsWithAnAnswerOrASentence()
    {
        QFETCH(int, megabytes);
        QTemporaryDir folder;
        const QString session = folder.filePath("s.h5");
        const CommandRun run =
            runHeadwise({"analyze", HEADWISE_DEMO_MODEL, "-o", session, "--analyses", "spectra,composition"},
                        folder.path(), {}, [=] {
                            const auto bytes = static_cast<rlim_t>(megabytes) << 20;
                            const rlimit limit{bytes, bytes};
                            setrlimit(RLIMIT_AS, &limit);
                        });
        if (run.exitCode == 127) { // the loader has no space for the libraries, so no line of ours runs
            QVERIFY2(run.err.contains("error while loading shared libraries") && megabytes <= 300, run.err);
            return;
        }
        QVERIFY2(run.exitCode == 0 || run.exitCode == 4,
                 run.err + QByteArray::number(run.exitCode)); // -1: it hangs
        QCOMPARE(QFile::exists(session), run.exitCode == 0);
        if (run.exitCode == 4) {
            QCOMPARE(run.err.count('\n'), 1);
            QVERIFY2(run.err.contains("memory") || run.err.contains("address space"), run.err);
        }
        if (megabytes >= 2500)
            QCOMPARE(run.exitCode, 0); // with enough space it is not refused
    }
};

HEADWISE_TEST(AddressSpaceTest)
#include "address_space_test.moc"
