#include "ui/pages/heads/all_heads_page.h"

#include "tests/support/opened_page.h"
#include "tests/support/program.h"
#include "ui/base/text.h"
#include "ui/charts/spectrum_chart.h"
#include "ui/document/head_metrics.h"
#include "ui/models/array_table_model.h"
#include "ui/widgets/table_figure.h"

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
                QTRY_VERIFY_WITH_TIMEOUT(workspace.results()->find("scores/copying")
                                             && !workspace.analysisJob()->isRunning()
                                             && workspace.waiting().empty(),
                                         patience);
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
        const auto results = opened.workspace.results();
        const auto scores = headMetrics(*results, opened.workspace.card());
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
        // The results of a new analysis are added.
        opened.workspace.runAnalysis("salient_tokens");
        QTRY_COMPARE_WITH_TIMEOUT(opened.table->model()->columnCount(), static_cast<int>(scores.size()) + 3,
                                  patience); // its null and the most by the null
    }

    void theHeadsAreSortedByAnyScoreAndChosenByTheirRows()
    {
        Opened opened;
        const ResultArray* copying = opened.workspace.results()->find("scores/copying");
        const int column = opened.columnOf(*copying);
        QVERIFY(column > 0);
        opened.table->sortByColumn(column, Qt::DescendingOrder);
        HeadId best;
        for (int head = 0; head < 16; ++head)
            if (metricAt(*copying, {head / 8, head % 8}) > metricAt(*copying, best))
                best = {head / 8, head % 8};
        QCOMPARE(cellText(opened.table, 0, 0), text(best));
        opened.workspace.setHead({0, 2});
        QCOMPARE(opened.table->currentIndex().siblingAtColumn(0).data().toString(), text(HeadId{0, 2}));
        opened.table->scrollToTop();
        QTest::mouseClick(opened.table->viewport(), Qt::LeftButton, {},
                          opened.table->visualRect(opened.table->model()->index(0, 0)).center());
        QCOMPARE(opened.workspace.head(), best);
    }

    void theTableAndThePlaneAreTakenAway()
    {
        Opened opened;
        const auto* plane = opened.find<LineChart>(QStringLiteral("Two scores of every head"));
        QTRY_VERIFY_WITH_TIMEOUT(!plane->series().empty(), patience);
        const QList<FigureSource*> figures = opened.page.figures();
        QCOMPARE(figures.size(), 2);
        const auto rows = dataRows(figures.front());
        QCOMPARE(rows.size(), std::size_t{17}); // with the titles
        const ResultArray* copying = opened.workspace.results()->find("scores/copying");
        QCOMPARE(rows[1 + 8 + 5][opened.columnOf(*copying)], exactNumber(metricAt(*copying, {1, 5})));
        std::size_t points = 0;
        for (const ChartSeries& series : plane->series())
            points += static_cast<std::size_t>(series.points.size());
        QVERIFY(points >= 16);
    }
};

HEADWISE_TEST(AllHeadsPageTest)
#include "all_heads_page_test.moc"
