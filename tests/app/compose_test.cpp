#include "core/session/kept_figures.h"
#include "core/session/session_file.h"
#include "tests/support/command.h"
#include "tests/support/program.h"

#include <QDir>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QRegularExpression>
#include <QTemporaryDir>
#include <QTest>
#include <QtEndian>

#include <cmath>

using namespace headwise::test;

namespace {

QByteArray composedBytes(const QString& path)
{
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

QDir descriptions()
{
    return QDir(QStringLiteral(HEADWISE_DEMO_MODEL "/../figures"));
}

void addDescriptions()
{
    QTest::addColumn<QString>("name");
    for (const QString& file : descriptions().entryList({QStringLiteral("*.json")}))
        QTest::newRow(qPrintable(file)) << file.chopped(5);
}

} // namespace

/// Figures of several panels from their descriptions, on the demo.
class ComposeTest : public QObject {
    Q_OBJECT

private:
    QTemporaryDir m_folder;

    QString path(const QString& name) const { return m_folder.filePath(name); }
    CommandRun exported(const QStringList& arguments) const
    {
        return runHeadwise(QStringList{"export"} + arguments, m_folder.path(), m_folder.path());
    }
    bool write(const QString& name, const QByteArray& bytes) const
    {
        QFile file(path(name));
        return file.open(QIODevice::WriteOnly) && file.write(bytes) == bytes.size();
    }
    QJsonObject description(const QString& name) const
    {
        return QJsonDocument::fromJson(composedBytes(path(name + ".json"))).object();
    }

private slots:
    void initTestCase()
    {
        if (!HEADWISE_GUI)
            QSKIP("built without the window");
        QCOMPARE(descriptions().entryList({"*.json"}).size(), 4);
        for (const QString& file : descriptions().entryList({"*.json"}))
            QVERIFY(QFile::copy(descriptions().filePath(file), path(file)));
        const CommandRun run =
            runHeadwise({"analyze", HEADWISE_DEMO_MODEL, "-o", path("demo.h5"), "--analyses",
                         "induction,composition,six_terms,singular_tokens,skipless", "--threads", "2"},
                        m_folder.path());
        QVERIFY2(run.exitCode == 0, run.err.constData());
    }

    void aFigureHasItsSizeItsLettersAndReadableType_data() { addDescriptions(); }
    void aFigureHasItsSizeItsLettersAndReadableType()
    {
        QFETCH(const QString, name);
        const CommandRun run = exported({"--figure", path(name + ".json"), "-o", path("f.svg"), "-o",
                                         path("f.png"), "-o", path("f.pdf")});
        QVERIFY2(run.exitCode == 0, run.err.constData());
        const QJsonObject wanted = description(name);
        const double width = wanted["page"]["width"].toDouble(), height = wanted["page"]["height"].toDouble();
        const QString svg = QString::fromUtf8(composedBytes(path("f.svg")));
        QVERIFY(svg.contains(QStringLiteral("<svg width=\"%1mm\" height=\"%2mm\"").arg(width).arg(height)));
        const QByteArray png = composedBytes(path("f.png"));
        const auto pixels = [&png](qsizetype at) { return qFromBigEndian<quint32>(png.constData() + at); };
        QVERIFY(png.startsWith("\x89PNG") && png.size() > 1000);
        QVERIFY(std::abs(pixels(16) - width / 25.4 * 300) <= 1); // IHDR
        QVERIFY(std::abs(pixels(20) - height / 25.4 * 300) <= 1);
        QVERIFY(composedBytes(path("f.pdf")).startsWith("%PDF-"));
        for (qsizetype panel = 0; panel < wanted["panels"].toArray().size(); ++panel) {
            const QRegularExpression bold(QStringLiteral("<text[^>]* font-weight=\"700\"[^>]*>%1</text>")
                                              .arg(QChar(static_cast<char16_t>(u'a' + panel))));
            QVERIFY2(bold.match(svg).hasMatch(), qPrintable(bold.pattern()));
        }
        static const QRegularExpression size("<text[^>]* font-size=\"([0-9.]+)\"");
        QVERIFY(size.match(svg).hasMatch());
        for (auto found = size.globalMatch(svg); found.hasNext();)
            QVERIFY(found.next().captured(1).toDouble() >= 6);
    }

    void aFigureIsMadeAgainFromEachFormat_data() { addDescriptions(); }
    void aFigureIsMadeAgainFromEachFormat()
    {
        QFETCH(const QString, name);
        const CommandRun first = exported({"--figure", path(name + ".json"), "-o", path("a.svg"), "-o",
                                           path("a.png"), "-o", path("a.pdf")});
        QVERIFY2(first.exitCode == 0, first.err.constData());
        for (const char* made : {"a.svg", "a.png", "a.pdf"})
            for (const char* ending : {"svg", "png"}) {
                const QString again = QStringLiteral("again.%1").arg(ending);
                const CommandRun run = exported({"--again", path(made), "-o", path(again)});
                QVERIFY2(run.exitCode == 0, run.err.constData());
                QVERIFY2(composedBytes(path(again))
                             == composedBytes(path(QStringLiteral("a.%1").arg(ending))),
                         made);
            }
    }

    void aFigureIsDrawnFromTheSessionThatIsNamed()
    {
        QVERIFY(QDir(m_folder.path()).mkpath("elsewhere"));
        QVERIFY(QFile::copy(path("elhage-induction.json"), path("elsewhere/figure.json")));
        const QStringList drawn{"--figure", path("elsewhere/figure.json"), "-o", path("elsewhere.svg")};
        const CommandRun lost = exported(drawn);
        QVERIFY2(lost.exitCode != 0 && lost.err.contains("demo.h5"), lost.err.constData());
        const CommandRun named = exported(QStringList{path("demo.h5")} + drawn);
        QVERIFY2(named.exitCode == 0, named.err.constData());
        const CommandRun beside =
            exported({"--figure", path("elhage-induction.json"), "-o", path("beside.svg")});
        QVERIFY2(beside.exitCode == 0, beside.err.constData());
        QCOMPARE(composedBytes(path("elsewhere.svg")), composedBytes(path("beside.svg")));
    }

    void aFigureThatTheSessionKeepsIsDrawnByItsName()
    {
        using namespace headwise;
        const std::string kept = path("kept.h5").toStdString();
        Result<Session> read = readSession(path("demo.h5").toStdString(), Task{});
        QVERIFY(read);
        Session session = std::move(read).value();
        KeptFigures figures;
        figures.composed["Figure 2"] =
            readFigureDescription(path("elhage-induction.json").toStdString()).value();
        figures.composed["Figure 2"].session.clear();
        session.figures = text(figures);
        QVERIFY(writeSession(kept, session, Task{}));
        const CommandRun named = exported({path("kept.h5"), "--figure", "Figure 2", "-o", path("named.svg")});
        QVERIFY2(named.exitCode == 0, named.err.constData());
        const CommandRun described = exported(
            {path("kept.h5"), "--figure", path("elhage-induction.json"), "-o", path("described.svg")});
        QVERIFY2(described.exitCode == 0, described.err.constData());
        QCOMPARE(composedBytes(path("named.svg")), composedBytes(path("described.svg")));
        const CommandRun again = exported({"--again", path("named.svg"), "-o", path("named-again.svg")});
        QVERIFY2(again.exitCode == 0, again.err.constData());
        QCOMPARE(composedBytes(path("named-again.svg")), composedBytes(path("named.svg")));
        const CommandRun unknown =
            exported({path("kept.h5"), "--figure", "Figure 3", "-o", path("unknown.svg")});
        QVERIFY(unknown.exitCode != 0 && !QFile::exists(path("unknown.svg")));
        QVERIFY2(unknown.err.contains("'Figure 3'") && unknown.err.contains("'Figure 2'"),
                 unknown.err.constData());
        session.figures = "{";
        QVERIFY(writeSession(kept, session, Task{}));
        const CommandRun damaged =
            exported({path("kept.h5"), "--figure", "Figure 2", "-o", path("unknown.svg")});
        QVERIFY2(damaged.exitCode != 0 && damaged.err.contains("cannot be read"), damaged.err.constData());
        const CommandRun view =
            exported({path("kept.h5"), "--view", "composition-k", "-o", path("view.csv")});
        QVERIFY2(view.exitCode == 0, view.err.constData());
    }

    /// No bar says what the colour of a point means, so the caption does.
    void theColoursOfPointsAreExplained()
    {
        const CommandRun run =
            exported({"--figure", path("elhage-induction.json"), "-o", path("colours.svg")});
        QVERIFY2(run.exitCode == 0, run.err.constData());
        QVERIFY(composedBytes(path("colours.svg")).contains("Colour:"));
    }

    void theNumbersOfAllPanelsAreWritten()
    {
        const CommandRun run = exported(
            {"--figure", path("elhage-induction.json"), "-o", path("all.csv"), "--data", path("numbers")});
        QVERIFY2(run.exitCode == 0, run.err.constData());
        const QByteArray all = composedBytes(path("all.csv"));
        QVERIFY(all.startsWith("panel,row,column,value\r\n"));
        QVERIFY(all.contains("\na,15,name,L1H7\r\n")); // 16 heads
        QVERIFY(all.contains("\nb,0,from,L0H"));
        QCOMPARE(QDir(path("numbers")).entryList(QDir::Files),
                 (QStringList{"a.csv", "b.csv", "figure.json"}));
        QCOMPARE(composedBytes(path("numbers/a.csv")).count('\n'), 1 + 16);
        const QJsonObject kept = QJsonDocument::fromJson(composedBytes(path("numbers/figure.json"))).object();
        QCOMPARE(kept["panels"].toArray().size(), 2);
    }

    /// Only what changed is drawn again; clocks play no part.
    void aFolderIsBroughtUpToDate()
    {
        const QDir folder(path("paper"));
        QVERIFY(QDir().mkpath(folder.path()));
        for (const char* name : {"elhage-induction", "graef-merges"})
            QVERIFY(QFile::copy(path(QStringLiteral("%1.json").arg(name)),
                                folder.filePath(QStringLiteral("%1.json").arg(name))));
        QVERIFY(QFile::copy(path("demo.h5"), folder.filePath("demo.h5")));
        const auto lines = [&](const QStringList& more, int code, qsizetype due) {
            const CommandRun run = exported(QStringList{"--figures", folder.path()} + more);
            if (run.exitCode != code || run.out.count("up to date") != 3 - due) {
                qWarning("%s%s", run.out.constData(), run.err.constData());
                return false;
            }
            return true;
        };
        QVERIFY(lines({"--check"}, 1, 3)); // a PDF and an SVG, and a PDF
        QVERIFY(!folder.exists("graef-merges.pdf"));
        QVERIFY(lines({}, 0, 3));
        QVERIFY(folder.exists("graef-merges.pdf") && folder.exists("elhage-induction.svg"));
        QVERIFY(lines({"--check"}, 0, 0));

        QByteArray changed = composedBytes(folder.filePath("graef-merges.json"));
        QVERIFY(write("paper/graef-merges.json", changed.replace("Skipless merges", "Merges")));
        QVERIFY(lines({"--check"}, 1, 1));
        const CommandRun run = exported({"--figures", folder.path()});
        QVERIFY2(run.exitCode == 0 && run.out.contains("graef-merges.pdf: made, its description has changed"),
                 run.out.constData());
        QVERIFY(lines({"--check"}, 0, 0));

        QVERIFY(write("paper/demo.h5", composedBytes(path("demo.h5")) + '\0'));
        const CommandRun moved = exported({"--figures", folder.path(), "--check"});
        QCOMPARE(moved.exitCode, 1);
        QCOMPARE(moved.out.count("its session has changed"), 3);
    }

    void refusesInOneSentence_data()
    {
        QTest::addColumn<QByteArray>("from");
        QTest::addColumn<QByteArray>("to");
        QTest::addColumn<int>("code");
        QTest::addColumn<QByteArray>("part");
        const auto row = [](const char* name, const char* from, const char* to, int code, const char* part) {
            QTest::newRow(name) << QByteArray(from) << QByteArray(to) << code << QByteArray(part);
        };
        row("unknown key", "\"title\": \"K-comp", "\"titel\": \"K-comp", 2, "panels[1].titel is unknown");
        row("wrong type", "\"width\": 170", "\"width\": \"wide\"", 2, "page.width is \"wide\"");
        row("range", "\"width\": 170", "\"width\": 3", 2, "page.width is 3, expected 10 to 5000 mm");
        row("small type", "\"font_size\": 8", "\"font_size\": 4", 2, "page.font_size is 4, expected 6");
        row("small page", "\"width\": 170, \"height\": 86", "\"width\": 20, \"height\": 30", 2, "Panel a, b");
        row("view", "induction: Matching and copying", "colour", 2, "Panel a: There is no view 'colour'");
        row("picture", "induction: Matching", "induction: Mapping", 2, "it has 'Candidates'");
        row("analysis", "induction: Matching", "inductions: Matching", 2, "list-analyses");
        row("session", "demo.h5", "none.h5", 3, "session is 'none.h5'");
        row("head", "\"1.7\"", "\"9.9\"", 2, "Panel a: the model has no head '9.9'");
        row("no head", "\"1.7\"", "\"first\"", 2, "panels[0].heads[2].head is 'first'");
        row("twice", "\"title\": \"K-comp", "\"row\": 1, \"column\": 1, \"title\": \"K-comp", 2,
            "where another panel is");
        row("version", "\"version\": 1", "\"version\": 2", 2, "version is 2");
        row("colour bar", "\"title\": \"K-comp", "\"value_title\": \"x\", \"title\": \"K-comp", 2,
            "Panel b: value_title");
        row("no JSON", "\"version\": 1,", "\"version\": 1", 3, "bad.json");
    }
    void refusesInOneSentence()
    {
        QFETCH(const QByteArray, from);
        QFETCH(const QByteArray, to);
        QFETCH(const int, code);
        QFETCH(const QByteArray, part);
        QByteArray bad = composedBytes(path("elhage-induction.json"));
        QVERIFY(bad.contains(from));
        QVERIFY(write("bad.json", bad.replace(from, to)));
        const CommandRun run = exported({"--figure", path("bad.json"), "-o", path("bad.pdf")});
        QCOMPARE(run.exitCode, code);
        QVERIFY2(run.err.contains(part) && run.err.contains("bad.json") && run.err.count('\n') == 1,
                 run.err.constData());
        QVERIFY(!QFile::exists(path("bad.pdf")));
    }

    void optionsOfASingleViewAreRefused()
    {
        const CommandRun run =
            exported({"--figure", path("graef-merges.json"), "-o", path("x.pdf"), "--font-size", "9"});
        QVERIFY2(run.exitCode == 2 && run.err.contains("--figure"), run.err.constData());
        QCOMPARE(exported({"--figure", path("graef-merges.json")}).exitCode, 2);
        QCOMPARE(exported({"--figures", path("nowhere")}).exitCode, 3);
    }
};

HEADWISE_TEST(ComposeTest)
#include "compose_test.moc"
