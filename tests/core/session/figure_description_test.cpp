#include "core/session/figure_description.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"

#include <QTemporaryDir>

#include <QTest>

#include <filesystem>
#include <fstream>

using namespace headwise;
using namespace headwise::test;

/// The JSON file of a figure of several panels.
class FigureDescriptionTest : public QObject {
    Q_OBJECT

private slots:
    void whatIsWrittenIsReadAsAnEqualValue()
    {
        FigureDescription figure;
        figure.session = "../a b/demo.h5";
        figure.page = {.preset = "slide",
                       .width = 123.5,
                       .height = 60,
                       .fontSize = 9,
                       .lineWidth = 0.5,
                       .font = "Noto Serif",
                       .dpi = 600};
        figure.title = "A \"title\" with σ₁";
        figure.caption = "Caption";
        figure.formats = {"svg", "png"};
        figure.widths = {1, 2};
        figure.heights = {1, 1.5};
        figure.panels.push_back({.view = "copying", .step = 143000, .scale = "s", .row = 1, .column = 1});
        figure.panels.push_back({.view = "induction: Matching and copying",
                                 .head = "1.5",
                                 .reference = "0.1",
                                 .label = "A1",
                                 .title = "t",
                                 .valueTitle = "v",
                                 .xTitle = "x",
                                 .yTitle = "y",
                                 .scale = "s",
                                 .series = {"OV", "QK"},
                                 .heads = {{"1.5", "one"}, {"0.1", ""}},
                                 .row = 2,
                                 .column = 1,
                                 .columnSpan = 2});
        for (const int indent : {-1, 2}) {
            const Result<FigureDescription> read =
                parseFigureDescription(text(figure, indent), "figure.json");
            QVERIFY(isOk(read));
            QVERIFY(*read == figure);
        }
    }

    void panelsWithoutAPlaceFollowEachOther()
    {
        const Result<FigureDescription> figure = parseFigureDescription(
            R"({"session": "s.h5", "panels": [{"view": "a", "column_span": 2}, {"view": "b"}, {"view": "c", "row": 2}, {"view": "d"}]})",
            "figure.json");
        QVERIFY(isOk(figure));
        const auto isAt = [&figure](std::size_t panel, int row, int column) {
            return figure->panels[panel].row == row && figure->panels[panel].column == column;
        };
        QVERIFY(isAt(0, 1, 1) && isAt(1, 1, 3) && isAt(2, 2, 1) && isAt(3, 2, 2));
        QVERIFY(panelGrid(*figure) == std::pair(2, 3));
        QVERIFY(panelLabel(*figure, 3) == "d");
    }

    void thePresetGivesWhatThePageLeavesOut()
    {
        FigureDescription figure;
        figure.page.preset = "single";
        figure.page.height = 40;
        const FigureSettings settings = figureSettings(figure, FigureFormat::Svg);
        QCOMPARE(settings.width, 85.0);
        QCOMPARE(settings.height, 40.0);
        QCOMPARE(settings.style.fontSize, 8.0);
        QVERIFY(settings.format == FigureFormat::Svg && !settings.style.title);
    }

    void aDescriptionWithoutASessionNeedsOneBesideIt()
    {
        const QTemporaryDir folder;
        const std::filesystem::path file = folder.filePath("figure.json").toStdString();
        std::ofstream(file) << R"({"panels": [{"view": "a"}]})";
        QVERIFY(failsWith(readFigureDescription(file), ErrorCode::InvalidArgument, "session is missing"));
        QVERIFY(failsWith(readFigureDescription(file, file.parent_path() / "absent.h5"), ErrorCode::NotFound,
                          "absent.h5"));
        const auto figure =
            readFigureDescription(file, file); // Whether it is a session is asked when it is read.
        QVERIFY(isOk(figure));
        QVERIFY(sessionPath(*figure, file) == std::filesystem::absolute(file));
    }

    void aMistakeIsNamedWithItsKey_data()
    {
        QTest::addColumn<QByteArray>("json");
        QTest::addColumn<QByteArray>("part");
        const auto row = [](const char* name, const char* json, const char* part) {
            QTest::newRow(name) << QByteArray(json) << QByteArray(part);
        };
        row("not an object", "[]", "the description is a list, expected an object");
        row("no panels", R"({"session": "s"})", "panels has 0 entries, expected 1 to 26");
        row("no view", R"({"session": "s", "panels": [{}]})", "panels[0].view is missing");
        row("unknown", R"({"session": "s", "panels": [{"view": "a", "colour": 1}]})",
            "panels[0].colour is unknown; allowed are label, view, head");
        row("preset", R"({"session": "s", "page": {"preset": "A4"}, "panels": [{"view": "a"}]})",
            "page.preset is 'A4', expected single, double, slide or poster");
        row("format", R"({"session": "s", "formats": ["gif"], "panels": [{"view": "a"}]})",
            "formats has 'gif'");
        row("whole", R"({"session": "s", "panels": [{"view": "a", "row": 1.5}]})",
            "panels[0].row is 1.5, expected a whole number");
        row("far", R"({"session": "s", "panels": [{"view": "a", "row": 99999999999}]})", "panels[0].row is");
        row("outside", R"({"session": "s", "panels": [{"view": "a", "column": 12, "column_span": 2}]})",
            "panels[0] ends outside the grid");
        row("shares", R"({"session": "s", "widths": [1, 2], "panels": [{"view": "a"}]})",
            "widths has 2 entries, expected one for each column: 1");
        row("share", R"({"session": "s", "widths": [0], "panels": [{"view": "a"}]})", "widths is 0");
        row("overlap",
            R"({"session": "s", "panels": [{"view": "a", "row_span": 2}, {"view": "b", "row": 2, "column": 1}]})",
            "panels[1] covers row 2, column 1, where another panel is");
    }
    void aMistakeIsNamedWithItsKey()
    {
        QFETCH(const QByteArray, json);
        QFETCH(const QByteArray, part);
        const Result<FigureDescription> figure = parseFigureDescription(json.toStdString(), "figure.json");
        QVERIFY(!figure);
        QVERIFY2(printed(figure.error()).startsWith("InvalidArgument: 'figure.json': ")
                     && printed(figure.error()).contains(part),
                 printed(figure.error()).constData());
    }
};

HEADWISE_TEST(FigureDescriptionTest)
#include "figure_description_test.moc"
