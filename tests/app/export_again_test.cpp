#include "core/session/session_file.h"
#include "tests/support/command.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"

#include <QFile>
#include <QTemporaryDir>
#include <QTest>

using namespace headwise;
using namespace headwise::test;

namespace {

QByteArray figureBytes(const QString& path)
{
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

} // namespace

/// Figures that are made again from their metadata.
class ExportAgainTest : public QObject {
    Q_OBJECT

private:
    QTemporaryDir m_folder;

    QString path(const QString& name) const { return m_folder.filePath(name); }
    CommandRun exported(const QStringList& arguments) const
    {
        return runHeadwise(QStringList{"export"} + arguments, m_folder.path());
    }
    CommandRun drawn(const QStringList& files) const
    {
        QStringList arguments{path("s.h5"), "--view", "spectrum", "--head",      "1.2", "--size",
                              "90x60mm",    "--dpi",  "150",      "--font-size", "7",   "--transparent"};
        for (const QString& file : files)
            arguments << "-o" << path(file);
        return exported(arguments);
    }

private slots:
    void initTestCase()
    {
        if (!HEADWISE_GUI)
            QSKIP("built without the window");
        Session session = readSession(testData("session-v1.h5"), Task{}).value();
        QVERIFY(isOk(writeSession(path("s.h5").toStdString(), session, Task{})));
        session.model.sha256 = std::string(64, 'f');
        QVERIFY(isOk(writeSession(path("other.h5").toStdString(), session, Task{})));
        const CommandRun run = drawn({"a.svg", "a.png", "a.pdf"});
        QVERIFY2(run.exitCode == 0, run.err.constData());
    }

    void everyFormatIsMadeAgain_data()
    {
        QTest::addColumn<QString>("figure");
        for (const char* figure : {"a.svg", "a.png", "a.pdf"})
            QTest::newRow(figure) << QString(figure);
    }
    void everyFormatIsMadeAgain()
    {
        QFETCH(const QString, figure);
        for (const char* ending : {"svg", "png"}) {
            const QString again = path(QStringLiteral("again.%1").arg(ending));
            const CommandRun run = exported({"--again", path(figure), "-o", again});
            QVERIFY2(run.exitCode == 0 && run.err.count('\n') == run.err.count("headwise: warning: "),
                     run.err.constData()); // warned of what has no room, and nothing else
        }
        QVERIFY(!figureBytes(path("a.svg")).isEmpty());
        QCOMPARE(figureBytes(path("again.svg")), figureBytes(path("a.svg")));
        QVERIFY(!figureBytes(path("a.png")).isEmpty());
        QVERIFY(figureBytes(path("again.png")) == figureBytes(path("a.png"))); // pixels and metadata
        QVERIFY(QFile::remove(path("again.svg")) && QFile::remove(path("again.png")));
        const CommandRun run = exported({"--again", path(figure), "-o", path("again.pdf")});
        QVERIFY2(run.exitCode == 0, run.err.constData());
        QVERIFY(figureBytes(path("again.pdf")).startsWith("%PDF-"));
    }

    void aSessionMayHaveMoved()
    {
        QVERIFY(QFile::copy(path("s.h5"), path("moved.h5")));
        const CommandRun run =
            exported({path("moved.h5"), "--again", path("a.png"), "-o", path("moved.png")});
        QVERIFY2(run.exitCode == 0, run.err.constData());
        const auto pixels = [this](const QString& name) {
            const QByteArray png = figureBytes(path(name));
            return png.mid(png.indexOf("IDAT"));
        };
        QVERIFY(pixels("a.png").size() > 100 && pixels("moved.png") == pixels("a.png"));
    }

    void refusesInOneSentence_data()
    {
        QTest::addColumn<QStringList>("arguments");
        QTest::addColumn<int>("code");
        QTest::addColumn<QByteArray>("part");
        QTest::newRow("no metadata") << QStringList{"--again", "plain.png"} << 2 << QByteArray("no metadata");
        QTest::newRow("no file") << QStringList{"--again", "none.svg"} << 3 << QByteArray("none.svg");
        QTest::newRow("session gone") << QStringList{"gone.h5", "--again", "a.svg"} << 3
                                      << QByteArray("headwise export SESSION.h5 --again");
        QTest::newRow("other model") << QStringList{"other.h5", "--again", "a.pdf"} << 2
                                     << QByteArray("another model");
        QTest::newRow("other options")
            << QStringList{"--again", "a.svg", "--dpi", "100"} << 2 << QByteArray("--again");
    }
    void refusesInOneSentence()
    {
        QFETCH(QStringList, arguments);
        QFETCH(const int, code);
        QFETCH(const QByteArray, part);
        QFile plain(path("plain.png"));
        QVERIFY(plain.open(QIODevice::WriteOnly) && plain.write("\x89PNG\r\n\x1a\n") == 8);
        plain.close();
        for (QString& argument : arguments)
            if (argument.contains(u'.'))
                argument = path(argument);
        const CommandRun run = exported(arguments + QStringList{"-o", path("x.svg")});
        QCOMPARE(run.exitCode, code);
        QVERIFY2(run.err.contains(part) && run.err.count('\n') == 1, run.err.constData());
        QVERIFY(!QFile::exists(path("x.svg")));
    }
};

HEADWISE_TEST(ExportAgainTest)
#include "export_again_test.moc"
