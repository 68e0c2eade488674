// The menu of heads, pairs and tokens: the same everywhere, and nothing happens before an entry is chosen.

#include "tests/support/keys_driver.h"
#include "tests/support/painting.h"
#include "tests/support/program.h"
#include "ui/base/text.h"
#include "ui/charts/diagram_view.h"
#include "ui/charts/pattern_grid.h"
#include "ui/charts/prompt_text.h"
#include "ui/charts/spectrum_chart.h"
#include "ui/document/notebook.h"
#include "ui/heatmaps/heatmap_view.h"
#include "ui/pages/findings/finding_row.h"
#include "ui/widgets/table_figure.h"

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QDockWidget>
#include <QLineEdit>
#include <QMenu>
#include <QTabWidget>
#include <QTimer>

#include <algorithm>

using namespace headwise;
using namespace headwise::ui;

namespace {

struct MenuDriver : test::KeysDriver {
    /// Asks for the menu of a view, chooses an entry if it has one of these words, and returns all entries.
    QStringList choose(QWidget* view, const QPoint& at, const QString& words)
    {
        QStringList entries;
        QTimer answer; // The menu waits for an answer.
        answer.setSingleShot(true);
        QObject::connect(&answer, &QTimer::timeout, &window, [&] {
            auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget());
            if (!menu)
                return;
            QAction* chosen = nullptr;
            for (QAction* each : menu->actions()) {
                entries << each->text();
                if (each->text() == words)
                    chosen = each;
            }
            menu->close();
            if (chosen)
                chosen->trigger();
        });
        answer.start(0);
        emit view->customContextMenuRequested(at);
        return entries;
    }

    Selection* selection() { return workspace().selection(); }
    QPoint inGrid(HeadId head) const { return grid->cells().rect(head.layer, head.head).center().toPoint(); }
};

} // namespace

class WindowMenuTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() { test::beginWithOwnSettings(m_folder); }
    void cleanupTestCase() { QVERIFY(waitForJobs(std::chrono::minutes(1))); }

    void aRightClickAloneChangesNothing()
    {
        MenuDriver driver;
        QTRY_VERIFY(driver.grid->matrix());
        const Selection::Place before = driver.selection()->place();
        QTest::mouseClick(driver.grid, Qt::RightButton, {}, driver.inGrid({1, 7}));
        QVERIFY(driver.selection()->place() == before);
        QVERIFY(driver.choose(driver.grid, driver.inGrid({1, 7}), {}).contains(QStringLiteral("Open L1H7")));
        QVERIFY(driver.selection()->place() == before);
        // Nor does it select the row of a table.
        auto* table = driver.heads->findChild<TableFigure*>();
        const int last = table->model()->rowCount() - 1;
        QVERIFY(last > 0);
        for (const int row : {0, last}) {
            table->scrollTo(table->model()->index(row, 0));
            const QPoint at = table->visualRect(table->model()->index(row, 0)).center();
            QTest::mouseClick(table->viewport(), Qt::RightButton, {}, at);
            QVERIFY(driver.selection()->place() == before);
            const QString name = table->model()->index(row, 0).data().toString();
            QVERIFY(driver.choose(table, at, {}).contains(QStringLiteral("Open ") + name));
        }
    }

    void theEntriesOfAHeadDoWhatTheySay()
    {
        MenuDriver driver;
        QTRY_VERIFY(driver.grid->matrix());
        const HeadId head{1, 7};
        const QPoint at = driver.inGrid(head);
        driver.choose(driver.grid, at, QStringLiteral("Set as reference"));
        QCOMPARE(driver.selection()->reference(), std::optional(head));
        driver.choose(driver.grid, at, QStringLiteral("Clear reference"));
        QVERIFY(!driver.selection()->reference());
        driver.choose(driver.grid, at, QStringLiteral("Bookmark"));
        QVERIFY(driver.workspace().notebook()->isBookmarked(head));
        driver.choose(driver.grid, at, QStringLiteral("Remove bookmark"));
        QVERIFY(!driver.workspace().notebook()->isBookmarked(head));
        driver.choose(driver.grid, at, QStringLiteral("Copy name L1H7"));
        QCOMPARE(QGuiApplication::clipboard()->text(), QStringLiteral("L1H7"));
        driver.choose(driver.grid, at, QStringLiteral("Copy id 1.7"));
        QCOMPARE(QGuiApplication::clipboard()->text(), QStringLiteral("1.7"));
        const QString value = exactNumber((*driver.grid->matrix())(1, 7));
        const QStringList entries = driver.choose(driver.grid, at, QStringLiteral("Copy value ") + value);
        QCOMPARE(QGuiApplication::clipboard()->text(), value);
        QVERIFY2(entries.contains(QStringLiteral("Export figure…")), qPrintable(entries.join(u'\n')));
        driver.choose(driver.grid, at, QStringLiteral("Show in all heads"));
        QCOMPARE(driver.selection()->head(), head);
        QCOMPARE(driver.tabs()->tabText(driver.tabs()->currentIndex()), QStringLiteral("All heads"));
        driver.choose(driver.grid, driver.inGrid({0, 3}), QStringLiteral("Compare with nearest head"));
        QTRY_VERIFY(driver.selection()->reference());
        QCOMPARE(driver.selection()->head(), (HeadId{0, 3}));
        QVERIFY(*driver.selection()->reference() != (HeadId{0, 3}));
        QCOMPARE(driver.tabs()->tabText(driver.tabs()->currentIndex()), QStringLiteral("Two heads"));
    }

    void aPairIsOpenedFromTheMap()
    {
        MenuDriver driver;
        driver.show(QStringLiteral("Composition"));
        auto* map = driver.page()->findChild<HeatmapView*>();
        QTRY_VERIFY(map->matrix());
        const QStringList entries = driver.choose(map, map->cells().rect(2, 7).center().toPoint(),
                                                  QStringLiteral("Open L0H2 → L1H7"));
        QVERIFY2(entries.contains(QStringLiteral("L0H2")), qPrintable(entries.join(u'\n')));
        QCOMPARE(driver.selection()->reference(), std::optional(HeadId{0, 2}));
        QCOMPARE(driver.selection()->head(), (HeadId{1, 7}));
    }

    void aPointOfTheScatterIsAHead()
    {
        MenuDriver driver;
        driver.show(QStringLiteral("All heads"));
        QTRY_VERIFY(driver.page()->findChild<LineChart*>()
                    && driver.page()->findChild<LineChart*>()->isVisible()
                    && driver.page()->figures().size() > 1);
        auto* scatter = driver.page()->findChild<LineChart*>();
        const auto cloud = std::ranges::find_if(
            scatter->series(), [](const ChartSeries& one) { return one.points.size() == 16; });
        QVERIFY(cloud != scatter->series().end());
        const QPoint at = scatter->positionOf(cloud->points[13]).toPoint();
        const auto nearest = scatter->pointAt(at);
        QVERIFY(nearest);
        const HeadId head{nearest->second / 8, nearest->second % 8};
        driver.choose(scatter, at, QStringLiteral("Open ") + text(head));
        QCOMPARE(driver.selection()->head(), head);
        QCOMPARE(driver.tabs()->tabText(driver.tabs()->currentIndex()), QStringLiteral("Overview"));
    }

    void theWiringOffersItsHeads()
    {
        MenuDriver driver;
        driver.show(QStringLiteral("Composition"));
        driver.waitForAnalyses();
        driver.page()->findChild<QTabWidget*>()->setCurrentIndex(1);
        QTRY_VERIFY(driver.page()->findChild<DiagramView*>()
                    && driver.page()->findChild<DiagramView*>()->isVisible()
                    && !driver.page()->findChild<DiagramView*>()->edges().empty());
        auto* wiring = driver.page()->findChild<DiagramView*>();
        const Selection::Place before = driver.selection()->place();
        const QPoint at = wiring->positionOf({1, 5}).toPoint();
        QTest::mouseClick(wiring, Qt::RightButton, {}, at);
        QVERIFY(driver.selection()->place() == before);
        driver.choose(wiring, at, QStringLiteral("Set as reference"));
        QCOMPARE(driver.selection()->reference(), std::optional(HeadId{1, 5}));
    }

    void thePromptOffersItsTokensAndHeads()
    {
        MenuDriver driver;
        driver.show(QStringLiteral("Prompt"));
        auto* words = driver.page()->findChild<PromptText*>();
        auto* heads = driver.page()->findChild<PatternGrid*>();
        for (auto* button : driver.page()->findChildren<QAbstractButton*>())
            if (button->text() == QStringLiteral("Run"))
                button->click();
        QTRY_VERIFY(words->tokens().size() > 1 && heads->layers() == 2);
        QTRY_VERIFY(test::isSettled(driver.window));
        const QStringList ofToken = driver.choose(words, words->tokenRect(1).center().toPoint(), {});
        QVERIFY2(ofToken.contains(QStringLiteral("Use in prompt")), qPrintable(ofToken.join(u'\n')));
        const QStringList ofHead = driver.choose(heads, heads->tileRect({1, 2}).center().toPoint(), {});
        QVERIFY2(ofHead.contains(QStringLiteral("Open L1H2")), qPrintable(ofHead.join(u'\n')));
    }

    void aTokenGoesIntoThePrompt()
    {
        MenuDriver driver;
        driver.show(QStringLiteral("Tokens"));
        auto* table = driver.page()->findChild<QTableView*>();
        QTRY_VERIFY(table->model()->rowCount() > 0 && !driver.page()->figures().isEmpty());
        driver.waitForAnalyses(); // the rows stay
        QTRY_VERIFY(test::isSettled(driver.window));
        auto* figure = dynamic_cast<QWidget*>(driver.page()->figures().first());
        QVERIFY(figure && (figure == table || figure->isAncestorOf(table)));
        const QPoint inTable = table->visualRect(table->model()->index(0, 1)).center();
        const QPoint at = figure == table ? inTable : table->viewport()->mapTo(figure, inTable);
        const QStringList entries = driver.choose(figure, at, QStringLiteral("Copy token"));
        QVERIFY2(entries.contains(QStringLiteral("Use in prompt")), qPrintable(entries.join(u'\n')));
        const QString token = QGuiApplication::clipboard()->text();
        driver.choose(figure, at, QStringLiteral("Use in prompt"));
        QCOMPARE(driver.tabs()->tabText(driver.tabs()->currentIndex()), QStringLiteral("Prompt"));
        const QList<QLineEdit*> fields = driver.page()->findChildren<QLineEdit*>();
        const auto prompt = std::ranges::find_if(
            fields, [](const QLineEdit* one) { return one->accessibleName() == u"Prompt"; });
        QVERIFY(prompt != fields.end());
        QVERIFY2((*prompt)->text().endsWith(token), qPrintable((*prompt)->text() + u'|' + token + u'|'));
    }

    void aFindingOffersItsHeads()
    {
        MenuDriver driver;
        driver.show(QStringLiteral("Findings"));
        const auto ofOneHead = [&]() -> FindingRow* {
            for (FindingRow* row : driver.page()->findChildren<FindingRow*>())
                if (row->isVisible() && row->finding().heads.size() == 1)
                    return row;
            return nullptr;
        };
        QTRY_VERIFY(ofOneHead());
        FindingRow* row = ofOneHead();
        const HeadId head = row->finding().heads.front();
        const QStringList entries =
            driver.choose(row, row->rect().center(), QStringLiteral("Set as reference"));
        QVERIFY2(entries.contains(QStringLiteral("Show")) && entries.contains(QStringLiteral("Copy")),
                 qPrintable(entries.join(u'\n')));
        QCOMPARE(driver.selection()->reference(), std::optional(head));
    }

private:
    QTemporaryDir m_folder;
};

HEADWISE_TEST(WindowMenuTest)
#include "window_menu_test.moc"
