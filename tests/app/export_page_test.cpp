// Pictures of pages on the command line.

#include "tests/support/command.h"
#include "tests/support/program.h"

#include <QDir>
#include <QFile>
#include <QTemporaryDir>
#include <QTest>

using namespace headwise;
using test::CommandRun;

class ExportPageTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase()
    {
        if (!HEADWISE_GUI)
            QSKIP("figures need the window");
        QVERIFY(m_folder.isValid());
    }

    void aModelIsEnough()
    {
        const CommandRun run = exported({"--view", "matrix: Matrix of the circuit", "--head", "1.5",
                                         "--choice", "circuit=2", "-o", path("m.svg"), "-o", path("m.csv")});
        QVERIFY2(run.exitCode == 0, run.err);
        QVERIFY(read("m.svg").contains("L1H5 full OV"));
        QVERIFY(read("m.svg").contains("matrix: Matrix of the circuit"));
        QVERIFY(read("m.csv").count('\n') > 10);
    }

    void choicesChangeThePicture()
    {
        QByteArray before;
        for (const char* prompt : {"The cat", "A dog and a cat"}) {
            const CommandRun run =
                exported({"--view", "prompt: Attention of the head", "--head", "L0H3", "--choice",
                          QStringLiteral("prompt=") + prompt, "-o", path("p.csv")});
            QVERIFY2(run.exitCode == 0, run.err);
            QVERIFY2(read("p.csv").count('\n') > before.count('\n'), read("p.csv"));
            before = read("p.csv");
        }
    }

    void boxesAreChosenAndThePictureMadeAgain()
    {
        const QString session = path("boxes.h5"), view = "spectra: Heads by effective rank";
        CommandRun run = test::runHeadwise(
            {"analyze", HEADWISE_DEMO_MODEL, "--analyses", "spectra", "-o", session}, m_folder.path());
        QVERIFY2(run.exitCode == 0, run.err);
        const auto drawn = [&](const QStringList& arguments) {
            run = test::runHeadwise(QStringList{"export", session} + arguments, m_folder.path());
            return run.exitCode;
        };
        const QStringList boxes{"--view", view, "--choice", "heads=1"};
        QVERIFY2(drawn(boxes + QStringList{"-o", path("boxes.svg"), "-o", path("boxes.csv")}) == 0, run.err);
        QVERIFY2(drawn({"--view", view, "-o", path("counts.csv")}) == 0, run.err);
        QVERIFY(read("boxes.csv").contains("layer") && read("boxes.csv") != read("counts.csv"));
        QVERIFY2(drawn({"--again", path("boxes.svg"), "-o", path("again.svg")}) == 0, run.err);
        QCOMPARE(read("again.svg"), read("boxes.svg"));
        for (const char* wrong : {"heads=7", "heads", "colour=1"}) {
            QCOMPARE(drawn({"--view", view, "--choice", wrong, "-o", path("wrong.svg")}), 2);
            QVERIFY2(run.err.contains(QByteArray("cannot have --choice ") + wrong), run.err);
            QVERIFY(!QFile::exists(path("wrong.svg")));
        }
    }

    void theListNamesThem()
    {
        const CommandRun list = test::runHeadwise({"export", "--list"}, m_folder.path());
        QVERIFY(list.out.contains("matrix: Matrix of the circuit\t"));
    }

    void wrongRequestsAreRefused_data()
    {
        QTest::addColumn<QStringList>("arguments");
        QTest::addColumn<int>("code");
        QTest::addColumn<QByteArray>("words");
        const auto row = [](const char* name, const QStringList& arguments, int code, const char* words) {
            QTest::newRow(name) << arguments << code << QByteArray(words);
        };
        const QString matrix = "matrix: Matrix of the circuit", pair = "compare: In both heads";
        row("no head", {"--view", matrix}, 2, "--head LAYER.HEAD");
        row("another head", {"--view", matrix, "--head", "9.9"}, 2, "no head 9.9");
        row("another choice", {"--view", matrix, "--head", "1.5", "--choice", "colour=1"}, 2, "circuit");
        row("no number", {"--view", matrix, "--head", "1.5", "--choice", "circuit=full"}, 2, "not a number");
        row("no such token", {"--view", matrix, "--head", "1.5", "--token", "zzqx"}, 3, "zzqx");
        row("no reference", {"--view", pair, "--head", "1.5"}, 3, "--reference");
        row("a view of a session", {"--view", "copying", "--token", "#3"}, 2, "--token");
        row("a view without a session", {"--view", "copying"}, 2, "needs a session");
        row("an animation", {"--view", matrix, "--animate"}, 2, "--animate");
    }

    void wrongRequestsAreRefused()
    {
        QFETCH(QStringList, arguments);
        QFETCH(int, code);
        QFETCH(QByteArray, words);
        const CommandRun run = exported(arguments + QStringList{"-o", path("no.svg")});
        QVERIFY2(run.exitCode == code && run.err.contains(words), run.err);
        QCOMPARE(run.err.count('\n'), 1);
        QVERIFY(!QFile::exists(path("no.svg")));
    }

    void aFigureOfAPageSaysHowItIsDrawn()
    {
        const QStringList view{"--view", "folding: With both weights", "--head", "1.5"};
        const CommandRun made = exported(view + QStringList{"-o", path("f.svg")});
        QVERIFY2(made.exitCode == 0, made.err);
        const CommandRun again = exported({"--again", path("f.svg"), "-o", path("again.svg")});
        QCOMPARE(again.exitCode, 2);
        QVERIFY2(again.err.contains("--view 'folding: With both weights'"), again.err);
    }

private:
    CommandRun exported(const QStringList& arguments) const
    {
        return test::runHeadwise(QStringList{"export", HEADWISE_DEMO_MODEL} + arguments, m_folder.path());
    }

    QString path(const char* name) const { return m_folder.filePath(QLatin1String(name)); }

    QByteArray read(const char* name) const
    {
        QFile file(path(name));
        return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
    }

    QTemporaryDir m_folder;
};

HEADWISE_TEST(ExportPageTest)
#include "export_page_test.moc"
