#include "tests/support/painted_texts.h"
#include "tests/support/program.h"
#include "tests/support/window_driver.h"
#include "ui/base/job.h"
#include "ui/heatmaps/heatmap_view.h"
#include "ui/models/token_table_model.h"
#include "ui/pages/compare/compare_page.h"
#include "ui/pages/findings/finding_row.h"
#include "ui/pages/heads/heads_page.h"
#include "ui/pages/model/card_page.h"
#include "ui/pages/overview/overview_page.h"
#include "ui/pages/tokens/tokens_page.h"
#include "ui/widgets/token_delegate.h"

#include <QComboBox>
#include <QLayout>
#include <QLineEdit>
#include <QScrollArea>
#include <QScrollBar>
#include <QTableView>
#include <QTreeWidget>

using namespace headwise;
using namespace headwise::ui;
using test::WindowDriver;

namespace {

/// The scroll area that holds the page.
const QScrollArea* areaOf(const QWidget* page)
{
    while (page && !qobject_cast<const QScrollArea*>(page))
        page = page->parentWidget();
    return static_cast<const QScrollArea*>(page);
}

} // namespace

/// Pages in windows smaller than the usual one, and in the largest.
class NarrowWindowTest : public QObject {
    Q_OBJECT

private:
    /// Checks the tokens of the shown tables, the first rows.
    static void expectWholeTokens(const TokensPage& page)
    {
        int tables = 0;
        for (const QTableView* table : page.findChildren<QTableView*>()) {
            if (!table->isVisible())
                continue;
            ++tables;
            const int column = TokenTableModel::TokenColumn;
            QTRY_VERIFY2(table->columnWidth(column) >= TokenDelegate::tokenWidth(12),
                         qPrintable(QString::number(table->columnWidth(column))));
            for (int row = 0; row < std::min(10, table->model()->rowCount()); ++row) {
                const QModelIndex cell = table->model()->index(row, column);
                const QFontMetrics metrics(cell.data(Qt::FontRole).value<QFont>());
                const int room = table->columnWidth(column) - TokenDelegate::tokenWidth(0);
                const QString token = cell.data().toString();
                QVERIFY2(token.size() > 12 || metrics.horizontalAdvance(token) <= room, qPrintable(token));
            }
            QVERIFY(!table->isColumnHidden(TokenTableModel::ValueColumn));
        }
        QCOMPARE(tables, 2);
    }

private slots:
    void initTestCase() { test::beginWithOwnSettings(m_folder); }

    void tokensAreNotCutOff_data()
    {
        QTest::addColumn<QSize>("size");
        QTest::newRow("1360 x 860") << QSize(1360, 860);
        QTest::newRow("1100 x 700") << QSize(1100, 700);
        QTest::newRow("900 x 520") << QSize(900, 520);
    }

    void tokensAreNotCutOff()
    {
        QFETCH(QSize, size);
        WindowDriver driver;
        driver.window.resize(size);
        driver.openDemo();
        driver.window.showPage(QStringLiteral("tokens"));
        auto* page = driver.window.findChild<TokensPage*>();
        auto* table = page->findChild<QTableView*>();
        QTRY_VERIFY(table->isVisible() && table->model()->rowCount() > 0);
        expectWholeTokens(*page);
        for (auto* choice : page->findChildren<QComboBox*>())
            if (choice->accessibleName() == QStringLiteral("Circuit of the tables"))
                choice->setCurrentIndex(1); // full QK, whose tables have the most columns
        QTRY_VERIFY(waitForJobs(std::chrono::milliseconds(0)));
        expectWholeTokens(*page);
    }

    void onTheWidestScreenAValueStaysNearItsToken()
    {
        WindowDriver driver;
        driver.window.resize(3840, 2160);
        driver.openDemo();
        driver.window.showPage(QStringLiteral("tokens"));
        const auto* page = driver.window.findChild<TokensPage*>();
        for (const QTableView* table : page->findChildren<QTableView*>())
            if (table->isVisible())
                QTRY_VERIFY2(table->width() > 300 && table->width() <= 640,
                             qPrintable(QString::number(table->width())));
        driver.window.showPage(QStringLiteral("findings"));
        const FindingRow* row = nullptr;
        QTRY_VERIFY((row = driver.window.findChild<FindingRow*>()));
        QTRY_VERIFY2(row->isVisible() && row->width() > 800 && row->width() <= 1100,
                     qPrintable(QString::number(row->width())));
    }

    void pagesDoNotScrollSideways()
    {
        WindowDriver driver;
        driver.window.resize(900, 520);
        driver.openDemo();
        driver.window.showPage(QStringLiteral("overview"));
        const auto* overview = driver.window.findChild<OverviewPage*>();
        QTRY_VERIFY(overview->isVisible());
        QTRY_COMPARE(areaOf(overview)->horizontalScrollBar()->maximum(), 0);
        driver.window.showPage(QStringLiteral("tokens"));
        const auto* tokens = driver.window.findChild<TokensPage*>();
        QTRY_VERIFY(tokens->isVisible());
        QTRY_COMPARE(areaOf(tokens)->horizontalScrollBar()->maximum(), 0);
        QCOMPARE(driver.window.size(), QSize(900, 520));
    }

    /// Two heads' token tables keep their tokens and values, and the questions of the sidebar their words.
    void twoHeadsAreComparedAt1024()
    {
        WindowDriver driver;
        driver.window.resize(1024, 640);
        driver.openDemo();
        driver.workspace().selection()->setHead({1, 5});
        driver.workspace().selection()->setReference(HeadId{0, 1});
        driver.window.showPage(QStringLiteral("compare"));
        const auto* page = driver.window.findChild<ComparePage*>();
        QTRY_VERIFY(!page->findChildren<QTableView*>().isEmpty()
                    && page->findChildren<QTableView*>().front()->model()->rowCount() > 0);
        for (const QTableView* table : page->findChildren<QTableView*>())
            QTRY_VERIFY2(table->columnWidth(0) >= TokenDelegate::tokenWidth(6),
                         qPrintable(QString::number(table->columnWidth(0))));
        QTRY_COMPARE(areaOf(page)->horizontalScrollBar()->maximum(), 0);
        int maps = 0;
        for (HeatmapView* map : page->findChildren<HeatmapView*>()) {
            if (!map->isVisible())
                continue;
            QTRY_VERIFY(map->matrix());
            test::TextCollector paper(map->size());
            map->render(&paper);
            for (const test::PaintedText& text : paper.texts())
                QVERIFY2(!text.words.contains(QStringLiteral("…")), qPrintable(text.words));
            ++maps;
        }
        QCOMPARE(maps, 2);
        const auto* sidebar = driver.window.findChild<QTreeWidget*>(QStringLiteral("sidebar"));
        for (int i = 0; i < sidebar->topLevelItemCount(); ++i) {
            const QTreeWidgetItem* item = sidebar->topLevelItem(i);
            constexpr int around = 17; // px: the accent, the padding and the margins of the text
            QFont font = sidebar->font();
            font.setPointSize(font.pointSize() - 1);
            font.setWeight(QFont::DemiBold);
            QVERIFY2(QFontMetrics(font).horizontalAdvance(item->text(0)) + around
                         <= sidebar->viewport()->width(),
                     qPrintable(item->text(0)));
        }
    }

    /// The grid grows with its dock; the words below it make room.
    void theGridOfHeadsCoversNoWords()
    {
        WindowDriver driver;
        driver.window.resize(1024, 640);
        driver.window.openPath(QStringLiteral(HEADWISE_TEST_DATA "/models/stories260k-sharded"));
        driver.waitForAnalyses(); // five layers: the wider the dock, the higher the grid
        auto* heads = driver.window.findChild<HeadsPage*>();
        for (const QSize& size : {QSize(3840, 2160), QSize(1024, 640), QSize(1360, 860)}) {
            const int before = heads->height();
            driver.window.resize(size);
            QTRY_VERIFY(heads->isVisible() && heads->height() != before);
            for (int turn = 0; turn < 5; ++turn) // the dock follows the window, and the grid the dock
                QCoreApplication::processEvents();
            const auto overlaps = [heads] {
                const auto parts = heads->findChildren<QWidget*>(QString(), Qt::FindDirectChildrenOnly);
                for (const QWidget* a : parts)
                    for (const QWidget* b : parts)
                        if (a != b && a->isVisible() && b->isVisible()
                            && a->geometry().intersects(b->geometry()))
                            return true;
                return false;
            };
            QVERIFY2(!overlaps(), qPrintable(QString::number(size.width())));
        }
    }

    /// Neither the fingerprint of the model nor its path makes the page wider than the window.
    void theModelsCardFitsANarrowWindow()
    {
        WindowDriver driver;
        driver.window.resize(900, 520);
        driver.openDemo();
        driver.window.showPage(QStringLiteral("model"));
        const auto* card = driver.window.findChild<CardPage*>();
        QTRY_VERIFY(card->isVisible());
        const auto* inside = card->findChild<QScrollArea*>();
        QTRY_COMPARE(inside->horizontalScrollBar()->maximum(), 0);
        bool hasFingerprint = false;
        for (const auto* line : card->findChildren<QLineEdit*>())
            hasFingerprint =
                hasFingerprint || line->text().size() == 7 + 64; // "sha256 …", to be copied whole
        QVERIFY(hasFingerprint);
    }

    /// Every card of the overview is inside the page, and no two overlap, in three, two and one columns.
    void theOverviewStacksItsCards()
    {
        QWidget holder; // so that the page may be narrower than its present layout needs
        Workspace workspace;
        OverviewPage page(&workspace, &holder);
        wearTheme(holder);
        holder.resize(1000, 2000);
        holder.show();
        QList<int> columns;
        const int one = page.minimumSizeHint().width(); // 12 px left and right of a card
        for (const int width : {900, 2 * (one - 24) + 8 + 24, one}) {
            page.resize(width, 2000);
            page.layout()->activate();
            QSet<int> lefts;
            QList<QRect> places;
            for (const QFrame* card : page.findChildren<QFrame*>())
                if (card->property("card").toBool()) {
                    lefts << card->x();
                    QVERIFY(page.rect().contains(card->geometry()));
                    for (const QRect& other : places)
                        QVERIFY(!other.intersects(card->geometry()));
                    places << card->geometry();
                }
            QCOMPARE(places.size(), 7);
            columns << static_cast<int>(lefts.size());
        }
        QCOMPARE(columns, (QList<int>{3, 2, 1}));
    }

private:
    QTemporaryDir m_folder;
};

HEADWISE_TEST(NarrowWindowTest)
#include "narrow_window_test.moc"
