#include "tests/support/program.h"
#include "tests/support/window_driver.h"
#include "ui/base/job.h"
#include "ui/models/token_table_model.h"
#include "ui/pages/overview/overview_page.h"
#include "ui/pages/tokens/tokens_page.h"
#include "ui/widgets/token_delegate.h"

#include <QComboBox>
#include <QLayout>
#include <QScrollArea>
#include <QScrollBar>
#include <QTableView>

using namespace headwise;
using namespace headwise::ui;
using test::patience;
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

/// Pages in windows smaller than the usual one.
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
        QTRY_VERIFY_WITH_TIMEOUT(table->isVisible() && table->model()->rowCount() > 0, patience);
        expectWholeTokens(*page);
        for (auto* choice : page->findChildren<QComboBox*>())
            if (choice->accessibleName() == QStringLiteral("Circuit of the tables"))
                choice->setCurrentIndex(1); // full QK, whose tables have the most columns
        QTRY_VERIFY_WITH_TIMEOUT(waitForJobs(std::chrono::milliseconds(0)), patience);
        expectWholeTokens(*page);
    }

    void pagesDoNotScrollSideways()
    {
        WindowDriver driver;
        driver.window.resize(900, 520);
        driver.openDemo();
        driver.window.showPage(QStringLiteral("overview"));
        const auto* overview = driver.window.findChild<OverviewPage*>();
        QTRY_VERIFY_WITH_TIMEOUT(overview->isVisible(), patience);
        QTRY_COMPARE(areaOf(overview)->horizontalScrollBar()->maximum(), 0);
        driver.window.showPage(QStringLiteral("tokens"));
        const auto* tokens = driver.window.findChild<TokensPage*>();
        QTRY_VERIFY_WITH_TIMEOUT(tokens->isVisible(), patience);
        QTRY_COMPARE(areaOf(tokens)->horizontalScrollBar()->maximum(), 0);
        QCOMPARE(driver.window.size(), QSize(900, 520));
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
