#include "ui/pages/heads/all_heads_page.h"

#include "tests/support/opened_page.h"
#include "tests/support/program.h"
#include "ui/base/text.h"
#include "ui/charts/spectrum_chart.h"
#include "ui/document/head_metrics.h"
#include "ui/models/array_table_model.h"
#include "ui/widgets/table_figure.h"

#include <QJsonDocument>
#include <QJsonObject>

#include <algorithm>
#include <cmath>

using namespace headwise;
using namespace headwise::test;
using namespace headwise::ui;

class AllHeadsPageTest : public QObject {
    Q_OBJECT

private:
    struct Opened : OpenedPage<AllHeadsPage> {
        Opened()
            : OpenedPage(HEADWISE_DEMO_MODEL)
        {
            [&] {
                QTRY_VERIFY(workspace.model()->results()->find("scores/copying")
                            && !workspace.runs()->job()->isRunning() && workspace.runs()->waiting().empty());
            }();
            table = find<TableFigure>(QStringLiteral("Every score of every head"));
        }

        int columnOf(const ResultArray& score) const
        {
            for (int column = 0; column < table->model()->columnCount(); ++column)
                if (table->model()->headerData(column, Qt::Horizontal).toString() == metricTitle(score))
                    return column;
            return -1;
        }

        TableFigure* table = nullptr;
    };

private slots:
    void everyScoreOfEveryHeadStandsInTheTable()
    {
        Opened opened;
        const auto results = opened.workspace.model()->results();
        const auto scores = headMetrics(*results, opened.workspace.model()->card());
        QVERIFY(scores.size() > 8);
        QCOMPARE(opened.table->model()->rowCount(), 16);
        QCOMPARE(opened.table->model()->columnCount(), static_cast<int>(scores.size()) + 1);
        for (int row = 0; row < 16; ++row) {
            const HeadId head{row / 8, row % 8};
            QCOMPARE(cellText(opened.table, row, 0), text(head));
            for (std::size_t i = 0; i < scores.size(); ++i) {
                const QModelIndex cell = opened.table->model()->index(row, static_cast<int>(i) + 1);
                const double expected = metricAt(*scores[i], head);
                const double shown = cell.data(ArrayTableModel::SortRole).toDouble();
                QVERIFY2(shown == expected || std::isnan(expected), scores[i]->path.c_str());
            }
        }
        // An analysis that is run joins them.
        opened.workspace.runs()->runAnalysis("salient_tokens");
        QTRY_COMPARE(opened.table->model()->columnCount(),
                     static_cast<int>(scores.size()) + 3); // its null and the most by the null
    }

    /// A model with as many layers as heads has tables of pairs of layers of the same shape.
    void tablesOfLayersAreNoScoresOfHeads()
    {
        ModelCard card;
        card.nLayers = card.nHeads = 3;
        const auto array = [](const char* path, const std::vector<ArrayAxis>& axes) {
            ResultArray made;
            made.path = path;
            made.axes = axes;
            made.shape = {3, 3};
            made.values = std::vector<double>(9);
            return made;
        };
        ResultSet results;
        results.arrays = {array("layers", {Axis::Layer, Axis::OtherLayer}),
                          array("heads", {Axis::Layer, Axis::Head})};
        const auto scores = headMetrics(results, card);
        QCOMPARE(scores.size(), std::size_t{1});
        QCOMPARE(scores.front()->path, std::string("heads"));
    }

    /// In a high window the chart takes the height, and the selected head has its name at its point.
    void thePlaneFillsItsPlace()
    {
        Opened opened;
        const auto* plane = opened.find<LineChart>(QStringLiteral("Two scores of every head"));
        QTRY_VERIFY(!plane->series().empty());
        opened.page.resize(1600, 1500);
        QTRY_VERIFY2(plane->height() > 700, qPrintable(QString::number(plane->height())));
        opened.page.resize(700, 500);
        QTRY_VERIFY(plane->height() < 400 && plane->height() > 200);
        for (int head = 0; head < 16; ++head) {
            opened.workspace.selection()->setHead({head / 8, head % 8});
            const QString name = text(HeadId{head / 8, head % 8});
            const auto count = [&] {
                int names = 0;
                for (const ChartSeries& series : plane->series())
                    names += static_cast<int>(std::ranges::count_if(
                        series.pointNames, [&](const auto& named) { return named.second == name; }));
                return names;
            };
            QTRY_COMPARE(count(), 1);
        }
    }

    void theScoresOfThePlaneAreKept()
    {
        Opened opened;
        QTRY_VERIFY(opened.page.figures().size() == 2);
        const QJsonObject state =
            QJsonDocument::fromJson(
                R"({"x": "scores/matching", "y": "scores/copying", "color": "scores/previous_token"})")
                .object();
        QVERIFY(opened.page.viewState() != state);
        opened.page.setViewState(state);
        QCOMPARE(opened.page.viewState(), state);
        const auto* plane = opened.find<LineChart>(QStringLiteral("Two scores of every head"));
        const auto results = opened.workspace.model()->results();
        const QPointF point = plane->series().front().points[3];
        QCOMPARE(point.x(), metricAt(*results->find("scores/matching"), {0, 3}));
        QCOMPARE(point.y(), metricAt(*results->find("scores/copying"), {0, 3}));
        // A score that is not there gives way to another.
        opened.page.setViewState(QJsonDocument::fromJson(R"({"x": "scores/nothing"})").object());
        QVERIFY(opened.page.viewState()[QStringLiteral("x")].toString() != QStringLiteral("scores/nothing"));
    }

    void theFarthestHeadsAreNamedInThePlane()
    {
        Opened opened;
        const auto* plane = opened.find<LineChart>(QStringLiteral("Two scores of every head"));
        const auto cloud = [&]() -> const ChartSeries& { return plane->series().front(); };
        QTRY_VERIFY(!plane->series().empty() && cloud().points.size() == 16);
        std::vector<double> distances(16);
        for (const bool across : {true, false}) {
            const auto valueOf = [&](int head) {
                return across ? cloud().points[head].x() : cloud().points[head].y();
            };
            double mean = 0, variance = 0;
            for (int head = 0; head < 16; ++head)
                mean += valueOf(head) / 16;
            for (int head = 0; head < 16; ++head)
                variance += std::pow(valueOf(head) - mean, 2) / 16;
            for (int head = 0; head < 16; ++head)
                distances[static_cast<std::size_t>(head)] += std::pow(valueOf(head) - mean, 2) / variance;
        }
        const auto& names = cloud().pointNames;
        QVERIFY(names.size() <= 5);
        int far = 0, farthest = 0;
        for (int head = 0; head < 16; ++head) {
            const auto at = static_cast<std::size_t>(head);
            far += distances[at] >= 4 ? 1 : 0;
            farthest = distances[at] > distances[static_cast<std::size_t>(farthest)] ? head : farthest;
        }
        QCOMPARE(names.size(), static_cast<std::size_t>(std::min(far, 5)));
        if (far > 0)
            QCOMPARE(names.front(), std::pair(farthest, text(HeadId{farthest / 8, farthest % 8})));
    }

    void theHeadsAreSortedByAnyScoreAndChosenByTheirRows()
    {
        Opened opened;
        const ResultArray* copying = opened.workspace.model()->results()->find("scores/copying");
        const int column = opened.columnOf(*copying);
        QVERIFY(column > 0);
        opened.table->sortByColumn(column, Qt::DescendingOrder);
        HeadId best;
        for (int head = 0; head < 16; ++head)
            if (metricAt(*copying, {head / 8, head % 8}) > metricAt(*copying, best))
                best = {head / 8, head % 8};
        QCOMPARE(cellText(opened.table, 0, 0), text(best));
        opened.workspace.selection()->setHead({0, 2});
        QCOMPARE(opened.table->currentIndex().siblingAtColumn(0).data().toString(), text(HeadId{0, 2}));
        opened.table->scrollToTop();
        QTest::mouseClick(opened.table->viewport(), Qt::LeftButton, {},
                          opened.table->visualRect(opened.table->model()->index(0, 0)).center());
        QCOMPARE(opened.workspace.selection()->head(), best);
    }

    void theTableAndThePlaneAreTakenAway()
    {
        Opened opened;
        const auto* plane = opened.find<LineChart>(QStringLiteral("Two scores of every head"));
        QTRY_VERIFY(!plane->series().empty());
        const QList<FigureSource*> figures = opened.page.figures();
        QCOMPARE(figures.size(), 2);
        const auto rows = dataRows(figures.front());
        QCOMPARE(rows.size(), std::size_t{17}); // with the titles
        const ResultArray* copying = opened.workspace.model()->results()->find("scores/copying");
        QCOMPARE(rows[1 + 8 + 5][opened.columnOf(*copying)], exactNumber(metricAt(*copying, {1, 5})));
        std::size_t points = 0;
        for (const ChartSeries& series : plane->series())
            points += static_cast<std::size_t>(series.points.size());
        QVERIFY(points >= 16);
        // Every head has one row under its name, the selected one too.
        const auto heads = dataRows(figures.back());
        QCOMPARE(heads.size(), std::size_t{17});
        QCOMPARE(heads[0][0], QStringLiteral("name"));
        for (int head = 0; head < 16; ++head)
            QCOMPARE(heads[static_cast<std::size_t>(head) + 1][0], text(HeadId{head / 8, head % 8}));
        // The mark of the selection stays on the screen.
        const QImage before = figureImage(*figures.back(), {}, 72);
        const HeadId now = opened.workspace.selection()->head();
        opened.workspace.selection()->setHead({1 - now.layer, 7 - now.head});
        QTRY_VERIFY(std::ranges::any_of(plane->series(), [&](const ChartSeries& series) {
            return series.name == text(HeadId{1 - now.layer, 7 - now.head});
        }));
        QCOMPARE(figureImage(*figures.back(), {}, 72), before);
    }
};

HEADWISE_TEST(AllHeadsPageTest)
#include "all_heads_page_test.moc"
