#include "core/results/table_file.h"
#include "core/session/picture_numbers.h"
#include "core/session/session_file.h"
#include "core/session/views.h"
#include "tests/support/command.h"
#include "tests/support/delimited_table.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"

#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QRegularExpression>
#include <QTemporaryDir>
#include <QTest>

#include <cmath>
#include <cstring>

using namespace headwise;
using namespace headwise::test;

namespace {

/// The fixture with everything that a view may need: 2 layers, 3 heads, d_head 5, 11 tokens, tables of L1H2.
Session richSession()
{
    Session session = readSession(testData("session-v1.h5"), Task{}).value();
    ResultSet& results = session.results;
    const auto copyOf = [&](const char* from, const std::string& to) {
        ResultArray array = *results.find(from);
        array.path = to;
        ResultSet one;
        one.arrays.push_back(std::move(array));
        results.merge(std::move(one));
    };
    for (const char* circuit : {"qk", "ov", "full_qk", "full_ov"}) {
        copyOf("spectra/qk/singular_values", std::string("spectra/") + circuit + "/singular_values");
        copyOf("scores/copying", std::string("spectra/") + circuit + "/frobenius_norm");
        copyOf("eigenvalues/full_ov", std::string("eigenvalues/") + circuit);
    }
    for (const char* score : {"scores/matching", "scores/previous_token"})
        copyOf("scores/copying", score);
    for (const char* kind : {"composition/k", "composition/v"})
        copyOf("composition/q", kind);
    copyOf("spectra/qk/singular_values", "analyses/position_kernel/mean_score");
    for (const char* name : {"ids", "values"})
        copyOf((std::string("tables/full_ov/") + name).c_str(), std::string("tables/full_qk/") + name);
    results.groupAttributes["tables/full_qk"] = results.groupAttributes["tables/full_ov"];
    return session;
}

QByteArray contents(const QString& path)
{
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

quint32 bigEndian(const QByteArray& bytes, qsizetype at)
{
    quint32 value = 0;
    for (qsizetype i = 0; i < 4; ++i)
        value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
    return value;
}

/// Cells expected in a table: the label, then the numbers of the row, two for a complex one.
std::vector<double> cellsOf(const PictureNumbers& view)
{
    std::vector<double> numbers;
    std::visit(
        [&]<typename T>(const std::vector<T>& values) {
            for (const T value : values)
                if constexpr (std::is_arithmetic_v<T>)
                    numbers.push_back(static_cast<double>(value));
                else
                    numbers.insert(numbers.end(),
                                   {static_cast<double>(value.real()), static_cast<double>(value.imag())});
        },
        view.values);
    return numbers;
}

bool isSame(double a, double b)
{
    return a == b || (std::isnan(a) && std::isnan(b));
}

} // namespace

class ExportTest : public QObject {
    Q_OBJECT

private:
    QTemporaryDir m_folder;
    Session m_session;

    QString path(const QString& name) const { return m_folder.filePath(name); }
    CommandRun exported(const QString& view, const QString& file, const QStringList& more = {}) const
    {
        return exported(view, QStringList{file}, more);
    }
    CommandRun exported(const QString& view, const QStringList& files, const QStringList& more = {}) const
    {
        QStringList arguments{"export", path("s.h5"), "--view", view};
        for (const QString& file : files)
            arguments << "-o" << path(file);
        return runHeadwise(arguments + more, m_folder.path());
    }
    static void allViews()
    {
        QTest::addColumn<QString>("view");
        QTest::addColumn<bool>("ofHead");
        for (const ViewDescription& view : views())
            QTest::newRow(view.name.c_str()) << QString::fromStdString(view.name) << view.ofHead;
    }
    static QStringList headOption(bool ofHead)
    {
        return ofHead ? QStringList{"--head", "1.2"} : QStringList{};
    }

private slots:
    void initTestCase()
    {
        m_session = richSession();
        QVERIFY(isOk(writeSession(path("s.h5").toStdString(), m_session, Task{})));
    }

    void tablesHoldTheSessionsNumbers_data() { allViews(); }
    void tablesHoldTheSessionsNumbers()
    {
        QFETCH(const QString, view);
        QFETCH(const bool, ofHead);
        const auto head = ofHead ? std::optional(HeadId{1, 2}) : std::nullopt;
        const Result<View> found = viewOf(m_session, view.toStdString(), head);
        QVERIFY(isOk(found));
        const Result<PictureNumbers> data = numbersOf(m_session, found->picture, head);
        QVERIFY(isOk(data));
        const CommandRun run = exported(view, QStringList{"t.csv", "t.tsv", "t.npy"}, headOption(ofHead));
        QVERIFY2(run.exitCode == 0, run.err.constData());
        for (const QString ending : {"csv", "tsv"}) {
            const Result<Table> table = readDelimited(contents(path("t." + ending)).toStdString(),
                                                      ending == "csv" ? Delimiter::Comma : Delimiter::Tab);
            QVERIFY(isOk(table));
            std::vector<double> cells;
            for (const std::vector<std::string>& row : table->rows)
                for (std::size_t i = found->picture.kind == Picture::Kind::Table ? row.size() - 1 : 1;
                     i < row.size(); ++i)
                    cells.push_back(QString::fromStdString(row[i]).toDouble());
            const std::vector<double> expected = cellsOf(*data);
            QCOMPARE(cells.size(), expected.size());
            for (std::size_t i = 0; i < cells.size(); ++i)
                QVERIFY2(isSame(static_cast<float>(cells[i]), static_cast<float>(expected[i])),
                         qPrintable(ending));
        }
        QVERIFY(contents(path("t.npy")).toStdString() == npyBytes(data->shape, data->values));
    }

    void picturesHaveTheSizeThatWasAskedFor_data() { allViews(); }
    void picturesHaveTheSizeThatWasAskedFor()
    {
        QFETCH(const QString, view);
        QFETCH(const bool, ofHead);
        const QStringList options = headOption(ofHead) + QStringList{"--size", "100x50mm", "--dpi", "200"};
        const CommandRun run = exported(view, QStringList{"p.png", "p.svg", "p.pdf"}, options);
        if (!HEADWISE_GUI) {
            QVERIFY(run.exitCode == 2 && run.err.contains("without the window"));
            return;
        }
        QVERIFY2(run.exitCode == 0 && run.err.count('\n') == run.err.count("headwise: warning: "),
                 run.err.constData()); // warned of what has no room, and nothing else
        const QByteArray png = contents(path("p.png"));
        QVERIFY(png.startsWith("\x89PNG") && png.size() > 1000);
        QVERIFY(std::abs(double(bigEndian(png, 16)) - 100 / 25.4 * 200) <= 1); // IHDR
        QVERIFY(std::abs(double(bigEndian(png, 20)) - 50 / 25.4 * 200) <= 1);
        const qsizetype physical = png.indexOf("pHYs") + 4;
        QVERIFY(physical > 4 && std::abs(double(bigEndian(png, physical)) - 200 / 0.0254) <= 1); // per metre

        const QByteArray svg = contents(path("p.svg"));
        QVERIFY(svg.contains("<svg") && svg.contains("viewBox=\"0 0 ") && svg.trimmed().endsWith("</svg>"));
        const QByteArray pdf = contents(path("p.pdf"));
        QVERIFY(pdf.startsWith("%PDF-") && pdf.trimmed().endsWith("%%EOF"));
    }

    /// From its PDF; export_again_test takes the other formats.
    void everyViewIsMadeAgain_data() { allViews(); }
    void everyViewIsMadeAgain()
    {
        if (!HEADWISE_GUI)
            QSKIP("built without the window");
        QFETCH(const QString, view);
        QFETCH(const bool, ofHead);
        const CommandRun drawn = exported(view, QStringList{"first.svg", "first.pdf"}, headOption(ofHead));
        QVERIFY2(drawn.exitCode == 0, drawn.err.constData());
        const CommandRun again =
            runHeadwise({"export", "--again", path("first.pdf"), "-o", path("again.svg")}, m_folder.path());
        QVERIFY2(again.exitCode == 0, again.err.constData());
        QVERIFY(!contents(path("first.svg")).isEmpty());
        QCOMPARE(contents(path("again.svg")), contents(path("first.svg")));
    }

    void typeOfPicturesIsSixPointsOrMore_data() { allViews(); }
    void typeOfPicturesIsSixPointsOrMore()
    {
        if (!HEADWISE_GUI)
            QSKIP("built without the window");
        QFETCH(const QString, view);
        QFETCH(const bool, ofHead);
        static const QRegularExpression size("<text[^>]* font-size=\"([0-9.]+)\"");
        static const QRegularExpression matrix("matrix\\(([-0-9.e]+),([-0-9.e]+),");
        for (const char* page : {"85x70mm", "170x100mm"}) {
            const CommandRun run =
                exported(view, QStringList{"type.svg"}, headOption(ofHead) + QStringList{"--size", page});
            QVERIFY2(run.exitCode == 0, run.err.constData());
            const QString svg = QString::fromUtf8(contents(path("type.svg")));
            QVERIFY(size.match(svg).hasMatch());
            for (auto found = size.globalMatch(svg); found.hasNext();)
                QVERIFY(found.next().captured(1).toDouble() >= 6);
            for (auto found = matrix.globalMatch(svg); found.hasNext();) { // nothing is scaled down
                const QRegularExpressionMatch at = found.next();
                QVERIFY(std::hypot(at.captured(1).toDouble(), at.captured(2).toDouble()) > 0.99);
            }
        }
    }

    void severalFilesAreWhatTheyAreOneByOne()
    {
        QStringList files{"copying.csv", "copying.md"};
        if (HEADWISE_GUI)
            files << "copying.png"
                  << "copying.svg";
        QCOMPARE(exported("copying", files).exitCode, 0);
        for (const QString& file : files) {
            const QByteArray together = contents(path(file));
            QCOMPARE(exported("copying", file).exitCode, 0);
            QVERIFY2(!together.isEmpty() && together == contents(path(file)), qPrintable(file));
        }
    }

    /// Neither a wrong ending nor a missing folder leaves the files before it behind.
    void oneFileThatCannotBeWrittenKeepsTheOthersAway()
    {
        for (const auto& [file, code] : {std::pair("away.bmp", 2), std::pair("nowhere/away.csv", 4)}) {
            const CommandRun run = exported("copying", QStringList{"away.csv", file});
            QCOMPARE(run.exitCode, code);
            QVERIFY2(run.err.contains(file) && run.err.count('\n') == 1, run.err.constData());
            QVERIFY(!QFile::exists(path("away.csv")));
        }
        QCOMPARE(exported("copying", QStringList{"away.csv", "here.csv"}).exitCode, 0);
        QVERIFY(QFile::exists(path("away.csv")));
    }

    /// A picture of an analysis's page is exported under the name that the window gives it.
    void aPictureOfAPageIsExported()
    {
        const QString name = QStringLiteral("composition: Strongest pairs, Q-composition");
        const CommandRun run = exported(name, QStringList{"pairs.svg", "pairs.csv"});
        QVERIFY2(run.exitCode == 0, run.err.constData());
        QVERIFY(contents(path("pairs.svg")).contains(">layer 1<"));
        QVERIFY(contents(path("pairs.csv")).contains("L0H2,L1H2,1"));
        const CommandRun own = runHeadwise({"export", path("s.h5"), "--list"}, m_folder.path());
        QVERIFY(own.out.contains(name.toUtf8() + "\tStrongest pairs, Q-composition\t/composition/q\n"));
        QCOMPARE(exported("alchemy: Gold", "x.csv").exitCode, 2);
    }

    void theViewsAreListedWithWhatTheyNeed()
    {
        const CommandRun all = runHeadwise({"export", "--list"}, m_folder.path());
        QCOMPARE(all.exitCode, 0);
        for (const ViewDescription& view : views())
            QVERIFY2(all.out.contains((view.name + "\t" + view.title + "\t" + view.needs).c_str()),
                     view.name.c_str());
        const CommandRun json = runHeadwise({"export", "--list", "--json"}, m_folder.path());
        const QJsonArray list = QJsonDocument::fromJson(json.out).array();
        QCOMPARE(list.size(), all.out.count('\n'));
        QCOMPARE(list[0].toObject()["name"].toString().toStdString(), views().front().name);
        const CommandRun own = runHeadwise({"export", path("s.h5"), "--list"}, m_folder.path());
        QCOMPARE(own.exitCode, 0);
        QVERIFY(own.out.contains("analyses/later/thing\t"));
    }

    void refusesInOneSentence_data()
    {
        QTest::addColumn<QString>("view");
        QTest::addColumn<QString>("file");
        QTest::addColumn<QStringList>("more");
        QTest::addColumn<int>("code");
        QTest::addColumn<QByteArray>("part");
        const auto row = [](const char* name, const char* view, const char* file, const QStringList& more,
                            int code, const char* part) {
            QTest::newRow(name) << QString(view) << QString(file) << more << code << QByteArray(part);
        };
        row("ending", "copying", "x.gif", {}, 2, ".npy");
        row("view", "colour", "x.csv", {}, 2, "--list");
        row("no head", "spectrum", "x.csv", {}, 2, "--head");
        row("head", "spectrum", "x.csv", {"--head", "9.9"}, 2, "no head 9.9");
        row("words", "spectrum", "x.csv", {"--head", "first"}, 2, "'first'");
        row("size", "copying", "x.png", {"--size", "3 inches"}, 2, "120x80mm");
        row("dots", "copying", "x.png", {"--dpi", "1"}, 2, "--dpi");
        row("absent", "tokens-ov", "x.csv", {"--head", "0.0"}, 3, "headwise analyze");
        row("folder", "copying", "missing/x.csv", {}, 4, "missing/x.csv");
    }
    void refusesInOneSentence()
    {
        QFETCH(const QString, view);
        QFETCH(const QString, file);
        QFETCH(const QStringList, more);
        QFETCH(const int, code);
        QFETCH(const QByteArray, part);
        const CommandRun run = exported(view, file, more);
        QCOMPARE(run.exitCode, code);
        QVERIFY2(run.err.contains(part) && run.err.count('\n') == 1, run.err.constData());
        QVERIFY(!QFile::exists(path(file)));
    }

    void tablesAreSetInTypeWithoutTheWindowsHelp()
    {
        QCOMPARE(exported("copying", "t.tex").exitCode, 0);
        const QByteArray latex = contents(path("t.tex"));
        QVERIFY(latex.startsWith("% "));
        QVERIFY2(latex.contains("\n% sha256: ") && latex.contains("\\begin{tabular}{")
                     && latex.contains(" \\\\\n"),
                 latex.constData());
        QCOMPARE(exported("tokens-ov", "t.md", headOption(true)).exitCode, 0);
        QVERIFY(contents(path("t.md")).contains("| ---: |\n"));
    }

    void aFigureSaysWhichTokensItIsOf()
    {
        const QString session = path("filtered.h5");
        const auto made = test::runHeadwise({"analyze", HEADWISE_DEMO_MODEL, "-o", session, "--analyses",
                                             "tables", "--heads", "1.5", "--first-id", "1000"},
                                            m_folder.path());
        QVERIFY2(made.exitCode == 0, made.err);
        const auto drawn = test::runHeadwise(
            {"export", session, "--view", "tokens-ov", "--head", "1.5", "-o", path("filtered.svg")},
            m_folder.path());
        if (!HEADWISE_GUI) {
            QCOMPARE(drawn.exitCode, 2);
            return;
        }
        QVERIFY2(drawn.exitCode == 0, drawn.err);
        QVERIFY2(drawn.err.contains("warning: ") && drawn.err.contains(" rows"), drawn.err); // left out
        const QByteArray svg = contents(path("filtered.svg"));
        QVERIFY(svg.count("--first-id 1000") >= 3); // title, metadata, picture
        QVERIFY(svg.contains(">source<") && svg.contains(">outputs it raises most, logit"));
    }

    /// With two layers, only heads of the first write and only heads of the second read. Half of the rows and columns
    /// would be empty.
    void aFigureOfPairsHasThePairsThereAre()
    {
        const QString session = path("pairs.h5");
        const auto made = test::runHeadwise(
            {"analyze", HEADWISE_DEMO_MODEL, "-o", session, "--analyses", "composition"}, m_folder.path());
        QVERIFY2(made.exitCode == 0, made.err);
        const auto exportTo = [&](const QString& name) {
            const auto run = test::runHeadwise(
                {"export", session, "--view", "composition-k", "--size", "160x140mm", "-o", path(name)},
                m_folder.path());
            return run.exitCode == 0 ? contents(path(name)) : QByteArray();
        };
        QCOMPARE(exportTo("pairs.csv").count('\n'), 1 + 16); // the numbers are the session's
        if (!HEADWISE_GUI)
            return;
        const QByteArray svg = exportTo("pairs.svg");
        for (int head = 0; head < 8; ++head)
            for (int layer = 0; layer < 2; ++layer)
                QCOMPARE(svg.count(QStringLiteral(">L%1H%2<").arg(layer).arg(head).toUtf8()), 1);
        QVERIFY(!svg.contains("not finite"));
    }

    void theLookOfAFigureIsChosen()
    {
        if (!HEADWISE_GUI)
            QSKIP("built without the window");
        const auto svg = [this](const QStringList& more) {
            const CommandRun run = exported("spectrum", "look.svg", headOption(true) + more);
            return run.exitCode == 0 ? contents(path("look.svg")) : run.err;
        };
        const QByteArray plain = svg({});
        QVERIFY(plain.contains(">full QK<") && plain.contains(">OV<"));
        QVERIFY(plain.contains("width=\"120mm\" height=\"80mm\"") && plain.contains("font-size=\"8\""));
        QCOMPARE(plain.count("L1H2 singular values"), 3); // title, metadata, picture
        const QByteArray slide = svg({"--preset", "slide"});
        QVERIFY(slide.contains("width=\"254mm\" height=\"142.9mm\"") && slide.contains("font-size=\"16\""));
        const QByteArray own = svg({"--preset", "slide", "--size", "50x50mm", "--font-size", "5"});
        QVERIFY(own.contains("width=\"50mm\"") && own.contains("font-size=\"5\""));
        QVERIFY(svg({"--line-width", "4"}).contains("stroke-width=\"4\""));
        QCOMPARE(svg({"--no-title"}).count("L1H2 singular values"), 2);
        QVERIFY(plain.contains("fill=\"#ffffff\""));
        QVERIFY(!svg({"--transparent"}).contains("fill=\"#ffffff\""));
        QVERIFY(svg({"--font", "Noto Serif"}).contains("font-family=\"Noto Serif"));
        QVERIFY(svg({"--preset", "billboard"}).contains("single, double, slide or poster"));
    }

    void refusesWhatIsNoSession()
    {
        const CommandRun absent =
            runHeadwise({"export", path("no.h5"), "--view", "copying", "-o", path("x.csv")}, m_folder.path());
        QCOMPARE(absent.exitCode, 3);
        QCOMPARE(runHeadwise({"export"}, m_folder.path()).exitCode, 2);
    }
};

HEADWISE_TEST(ExportTest)
#include "export_test.moc"
