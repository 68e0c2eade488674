#include "ui/pages/tokens_page.h"

#include "core/analysis/token_table.h"
#include "tests/support/opened_page.h"
#include "ui/text.h"
#include "ui/views/heatmap_view.h"

#include <QLabel>
#include <QSignalSpy>

using namespace headwise;
using namespace headwise::test;
using namespace headwise::ui;

class TokensPageTest : public QObject {
    Q_OBJECT

private:
    using Opened = OpenedPage<TokensPage>;

    static HeatmapView* map(Opened& opened)
    {
        return opened.find<HeatmapView>(QStringLiteral("Effect of attending to the token"));
    }

    static double rowNorm(Opened& opened, HeadId head)
    {
        const auto line = tokenLine(*opened.workspace.circuits(), *opened.workspace.tokens(),
                                    {CircuitKind::FullOv, head}, TableSide::Row, opened.workspace.token());
        return line->norm();
    }

private slots:
    void everyHeadShowsWhatAttendingToTheTokenDoes()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        opened.workspace.setToken(opened.workspace.tokenizer()->encode(" king")->back());
        QTRY_VERIFY_WITH_TIMEOUT(map(opened)->matrix(), patience);
        const auto agrees = [&](HeadId head) {
            const double shown = double{(*map(opened)->matrix())(head.layer, head.head)};
            return std::abs(shown - rowNorm(opened, head)) < 1e-5 * rowNorm(opened, head);
        };
        QTRY_VERIFY_WITH_TIMEOUT(agrees({1, 5}), patience);
        QVERIFY(agrees({0, 1}) && agrees({1, 0}));
        opened.workspace.setToken(opened.workspace.tokenizer()->encode(" the")->back());
        QTRY_VERIFY_WITH_TIMEOUT(agrees({1, 5}) && agrees({0, 7}), patience);
    }

    void aClickOpensTheTablesOfThatHead()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        opened.workspace.setToken(opened.workspace.tokenizer()->encode(" king")->back());
        QTRY_VERIFY_WITH_TIMEOUT(map(opened)->matrix(), patience);
        QTest::mouseClick(map(opened), Qt::LeftButton, {}, map(opened)->cellRect(1, 5).center().toPoint());
        QCOMPARE(opened.workspace.head(), (HeadId{1, 5}));
        const auto line = tokenLine(*opened.workspace.circuits(), *opened.workspace.tokens(),
                                    {CircuitKind::FullOv, {1, 5}}, TableSide::Row, opened.workspace.token());
        const int best = ends(*line, 1, opened.workspace.unusedTokens()).top.front().id;
        auto* table = opened.page.findChildren<QTableView*>().first();
        QTRY_COMPARE_WITH_TIMEOUT(cellText(table, 0, 2), QString::number(best), patience);
        QTest::mouseClick(map(opened), Qt::RightButton, {}, map(opened)->cellRect(0, 1).center().toPoint());
        QCOMPARE(opened.workspace.reference(), std::optional(HeadId{0, 1}));
        QCOMPARE(opened.page.figures().size(), 2);
    }

    void theMouseReadsOutTheStrongestOutputs()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        QTRY_VERIFY_WITH_TIMEOUT(map(opened)->matrix(), patience);
        QSignalSpy said(&opened.page, &Page::readOutChanged);
        QTest::mouseMove(map(opened), map(opened)->cellRect(1, 7).center().toPoint());
        const auto line = tokenLine(*opened.workspace.circuits(), *opened.workspace.tokens(),
                                    {CircuitKind::FullOv, {1, 7}}, TableSide::Row, opened.workspace.token());
        QStringList outputs;
        for (const TokenEntry& entry : ends(*line, 5, opened.workspace.unusedTokens()).top)
            outputs << opened.workspace.tokenText(entry.id);
        QTRY_VERIFY_WITH_TIMEOUT(!said.isEmpty() && said.last()[0].toString().endsWith(outputs.join(u' ')),
                                 patience);
        QVERIFY(said.last()[0].toString().contains(number(rowNorm(opened, {1, 7}))));
    }
};

QTEST_MAIN(TokensPageTest)
#include "tokens_page_test.moc"
