#include "ui/pages/overview/overview_page.h"

#include "tests/support/opened_page.h"
#include "tests/support/program.h"
#include "ui/base/text.h"
#include "ui/models/token_table_model.h"
#include "ui/pages/overview/salient_panel.h"
#include "ui/widgets/table_figure.h"

#include <QFrame>
#include <QLabel>
#include <QSignalSpy>

#include <algorithm>

using namespace headwise;
using namespace headwise::test;
using namespace headwise::ui;

namespace {

/// The tokens of largest ‖E[t] W_OV‖ / ‖E[t]‖ by a dense product, the largest first.
std::vector<std::pair<double, int>> salientTokens(const Workspace& workspace, HeadId head)
{
    const Circuits& circuits = *workspace.model()->circuits();
    const int count = circuits.config().dVocab;
    const Matrix<double> E = circuits.weights().W_E<double>(0, count);
    const Matrix<double> made = E * circuits.ov(head).dense();
    std::vector<std::pair<double, int>> order;
    for (int token = 0; token < count; ++token)
        if (!workspace.filteredTokens()->unused()[static_cast<std::size_t>(token)])
            order.emplace_back(made.row(token).norm() / E.row(token).norm(), token);
    std::sort(order.rbegin(), order.rend());
    return order;
}

} // namespace

class OverviewPageTest : public QObject {
    Q_OBJECT

private:
    static int tokenIn(const QTableView* table, int row)
    {
        return table->model()->index(row, 0).data(TokenTableModel::IdRole).toInt();
    }

    /// Tells whether the table shows the tokens of that head, in order and with their norms.
    static bool showsTokensOf(const TableFigure* table, const Workspace& workspace, HeadId head)
    {
        const auto expected = salientTokens(workspace, head);
        if (table->model()->rowCount() != 30)
            return false;
        for (int row = 0; row < 30; ++row) {
            const auto& [norm, token] = expected[static_cast<std::size_t>(row)];
            const double shown = table->model()->index(row, 1).data(TokenTableModel::SortRole).toDouble();
            if (tokenIn(table, row) != token || std::abs(shown - norm) > 1e-4 * norm)
                return false;
        }
        return true;
    }

private slots:
    void theTokensAHeadMakesTheMostOfAreThoseOfADenseProduct()
    {
        OpenedPage<SalientPanel> opened(HEADWISE_DEMO_MODEL);
        auto* table = opened.find<TableFigure>(QStringLiteral("Salient tokens of the head"));
        opened.workspace.selection()->setHead({1, 5});
        opened.workspace.selection()->setHead({0, 1}); // the newest question is answered
        opened.workspace.selection()->setHead({1, 2});
        QTRY_VERIFY(showsTokensOf(table, opened.workspace, {1, 2}));
        // Tokens that the first of them raises most.
        const Circuits& circuits = *opened.workspace.model()->circuits();
        const int token = tokenIn(table, 0);
        const RowVector<double> logits = circuits.weights().W_E<double>(token, 1)
            * circuits.ov({1, 2}).dense() * circuits.weights().W_U<double>(0, circuits.config().dVocabOut);
        Eigen::Index best = -1;
        for (Eigen::Index i = 0; i < logits.size(); ++i)
            if (!opened.workspace.filteredTokens()->unused()[static_cast<std::size_t>(i)]
                && (best < 0 || logits(i) > logits(best)))
                best = i;
        const QString raised = opened.workspace.model()->tokenText(static_cast<int>(best));
        QVERIFY2(cellText(table, 0, 2).startsWith(raised), qPrintable(cellText(table, 0, 2)));
        const QString hover = table->model()->index(0, 2).data(Qt::ToolTipRole).toString();
        QVERIFY2(
            hover.startsWith(raised + QStringLiteral("  ") + signedNumber(static_cast<float>(logits(best)))),
            qPrintable(hover));
        // Beside the value of a random direction.
        const Matrix<double> ov = circuits.ov({1, 2}).dense();
        const QString null =
            number(static_cast<float>(ov.norm() / std::sqrt(static_cast<double>(ov.rows()))));
        bool isSaid = false;
        for (const QLabel* label : opened.page.findChildren<QLabel*>())
            isSaid = isSaid || label->text().contains(null);
        QVERIFY2(isSaid, qPrintable(null));
        QCOMPARE(opened.page.figures(), QList<FigureSource*>{table});
        QCOMPARE(dataRows(table).size(), std::size_t{31}); // and the titles
        // A head shown before is there at once.
        opened.workspace.selection()->setHead({0, 1});
        QVERIFY(table->isHidden());
        QTRY_VERIFY(showsTokensOf(table, opened.workspace, {0, 1}));
        opened.workspace.selection()->setHead({1, 2});
        QVERIFY(!table->isHidden() && showsTokensOf(table, opened.workspace, {1, 2}));
    }

    void resultsThatAreThereAreNotComputedAgain()
    {
        OpenedPage<SalientPanel> opened(HEADWISE_DEMO_MODEL);
        auto* table = opened.find<TableFigure>(QStringLiteral("Salient tokens of the head"));
        QTRY_VERIFY(showsTokensOf(table, opened.workspace, {0, 0}));
        opened.workspace.runs()->runAnalysis("salient_tokens");
        QTRY_VERIFY(opened.workspace.model()->results()->find("analyses/salient_tokens/ids"));
        opened.workspace.selection()->setHead({1, 4});
        QVERIFY(showsTokensOf(table, opened.workspace, {1, 4})); // at once
    }

    void everyPanelFitsASmallWindow()
    {
        OpenedPage<OverviewPage> opened(HEADWISE_DEMO_MODEL, {720, 640}); // of one of 1280 × 800 px
        auto* table = opened.find<TableFigure>(QStringLiteral("Salient tokens of the head"));
        QTRY_VERIFY(table->model()->rowCount() == 30 && table->isVisible());
        QVERIFY2(opened.page.minimumSizeHint().width() <= 720,
                 qPrintable(QString::number(opened.page.minimumSizeHint().width())));
        QCOMPARE(opened.page.size(), QSize(720, 640));
        for (const QFrame* card : opened.page.findChildren<QFrame*>())
            if (card->property("card").toBool())
                QVERIFY(opened.page.rect().contains(card->geometry()));
        // If narrow, only the largest entries; both ends if there is space.
        const auto bothEnds = [&] {
            int shown = 0;
            for (const QTableView* end : opened.page.findChildren<QTableView*>())
                shown += end->accessibleName() == QStringLiteral("smallest") && end->isVisible() ? 1 : 0;
            return shown;
        };
        QCOMPARE(bothEnds(), 0);
        opened.page.resize(1200, 800);
        QTRY_COMPARE(bothEnds(), 2);
    }

    void aDoubleClickOnACardOpensItsPage()
    {
        OpenedPage<OverviewPage> opened(HEADWISE_DEMO_MODEL);
        QSignalSpy page(&opened.page, &OverviewPage::pageRequested);
        QSignalSpy analysis(&opened.page, &OverviewPage::analysisRequested);
        QStringList asked;
        for (QFrame* card : opened.page.findChildren<QFrame*>())
            if (card->property("card").toBool())
                QTest::mouseDClick(card, Qt::LeftButton, {}, {3, 3});
        for (const auto& signal : page)
            asked << signal.front().toString();
        QCOMPARE(asked.size(), 6);
        QVERIFY(asked.contains(QStringLiteral("composition")));
        QCOMPARE(analysis.size(), 1);
        QCOMPARE(analysis.front().front().toString(), QStringLiteral("salient_tokens"));
    }
};

HEADWISE_TEST(OverviewPageTest)
#include "overview_page_test.moc"
