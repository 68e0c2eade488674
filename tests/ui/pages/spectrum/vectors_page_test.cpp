#include "ui/pages/spectrum/vectors_page.h"

#include "core/analysis/inputs/direction_source.h"
#include "core/base/decompositions.h"
#include "core/circuits/singular_search.h"
#include "tests/support/matchers.h"
#include "tests/support/opened_page.h"
#include "tests/support/program.h"
#include "ui/base/text.h"
#include "ui/charts/spectrum_chart.h"
#include "ui/models/token_table_model.h"
#include "ui/pages/parts/vector_tables.h"
#include "ui/widgets/paper_table.h"
#include "ui/widgets/table_figure.h"
#include "ui/widgets/token_edit.h"

#include <QCheckBox>
#include <QComboBox>
#include <QLabel>
#include <QMenu>
#include <QSignalSpy>
#include <QToolButton>

#include <algorithm>
#include <cmath>

using namespace headwise;
using namespace headwise::test;
using namespace headwise::ui;

class VectorsPageTest : public QObject {
    Q_OBJECT

private:
    using Opened = OpenedPage<VectorsPage>;

    static TableFigure* table(Opened& opened, int side)
    {
        return opened.find<TableFigure>(side == 0 ? QStringLiteral("Tokens, first side")
                                                  : QStringLiteral("Tokens, second side"));
    }

    /// The tokens of one end of E u_k and of v_kᵀ W_U, largest magnitude of the first positive, from dense matrices.
    static QStringList expected(Opened& opened, int side, int direction, bool ofTop)
    {
        const Matrix<double> ov =
            opened.workspace.model()
                ->circuits()
                ->circuit<double>(CircuitKind::Ov, opened.workspace.selection()->head(), nullptr)
                .dense();
        const auto svd = thinSvd(ov);
        const TokenSide& tokens = *opened.workspace.model()->tokens();
        const Eigen::VectorXd in = *tokens.E.whole<double>() * svd->U.col(direction);
        const Eigen::VectorXd out = tokens.W_U.whole<double>()->transpose() * svd->V.col(direction);
        Eigen::VectorXd counted = in; // ids without a token do not count
        const std::vector<bool>& unused = opened.workspace.filteredTokens()->unused();
        for (std::size_t id = 0; id < unused.size(); ++id)
            if (unused[id])
                counted(static_cast<Eigen::Index>(id)) = 0;
        Eigen::Index largest = 0;
        counted.cwiseAbs().maxCoeff(&largest);
        const double sign = in(largest) > 0 ? 1 : -1;
        const RowVector<double> line = sign * (side == 0 ? in : out).transpose();
        const TokenEnds found = ends(line, 10, opened.workspace.filteredTokens()->unused());
        QStringList shown;
        for (const TokenEntry& entry : ofTop ? found.top : found.bottom)
            shown << opened.workspace.model()->tokenText(entry.id);
        return shown;
    }

    /// Shows the tokens of directions in blocks too.
    static void showEach(Opened& opened)
    {
        for (auto* box : opened.page.findChildren<QCheckBox*>())
            if (box->text() == QLatin1String("each direction alone"))
                box->click();
    }

    static QStringList column(const QTableView* table, int column, int from)
    {
        QStringList shown;
        for (int row = from; row < from + 10; ++row)
            shown << cellText(table, row, column);
        return shown;
    }

private slots:
    void theSelectedVectorCanBeLookedAt()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        opened.workspace.selection()->setHead({1, 5});
        opened.workspace.selection()->setDirection({CircuitKind::Ov, 2, 1});
        auto* look = opened.find<QToolButton>(QStringLiteral("Inspect this direction"));
        QTRY_VERIFY(look->isEnabled());
        QSignalSpy wanted(&opened.page, &VectorsPage::directionWanted);
        const auto asked = [&](int action) {
            look->menu()->actions()[action]->trigger();
            return readDirection(wanted.last()[0].toString().toStdString(),
                                 *opened.workspace.model()->circuits(), nullptr);
        };
        const TokenSide& tokens = *opened.workspace.model()->tokens();
        const auto in = asked(0), out = asked(1);
        QVERIFY(isOk(in) && isOk(out));
        const auto along = [](const auto& numbers) {
            return Eigen::Map<const Eigen::VectorXd>(numbers->data(), Eigen::Index(numbers->size()));
        };
        // The first of the largest tokens is the largest along the displayed vector, including its sign.
        const auto best = [&](const RowVector<double>& line) {
            return opened.workspace.model()->tokenText(
                ends(line, 1, opened.workspace.filteredTokens()->unused()).top.front().id);
        };
        QVERIFY(expected(opened, 0, 2, true).front()
                == best((*tokens.E.whole<double>() * along(in)).transpose()));
        QVERIFY(expected(opened, 1, 2, true).front()
                == best((tokens.W_U.whole<double>()->transpose() * along(out)).transpose()));
        opened.workspace.selection()->setDirection({CircuitKind::Ov, 2, -1});
        const auto turned = asked(0);
        QVERIFY(isOk(turned) && along(turned) == -along(in));
    }

    void columnsAreTheTokensOfTheDirections()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        opened.workspace.selection()->setHead({1, 5});
        QTRY_COMPARE(table(opened, 0)->model()->columnCount(), 9);
        QTRY_COMPARE(column(table(opened, 0), 1, 0), expected(opened, 0, 0, true));
        for (const int direction : {0, 3})
            for (const int side : {0, 1}) {
                QCOMPARE(column(table(opened, side), 1 + direction, 0),
                         expected(opened, side, direction, true));
                QCOMPARE(column(table(opened, side), 1 + direction, 10),
                         expected(opened, side, direction, false));
            }
        QVERIFY(opened.page.figures().size() >= 3);
    }

    void keysMoveBetweenDirectionsAndTurnTheSign()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        opened.workspace.selection()->setHead({1, 5});
        QTRY_COMPARE(table(opened, 0)->model()->columnCount(), 9);
        QTRY_COMPARE(column(table(opened, 0), 1, 0), expected(opened, 0, 0, true));
        showEach(opened);
        QTest::keyClick(table(opened, 0), Qt::Key_Right);
        QCOMPARE(opened.workspace.selection()->direction().index, 1);
        QTest::keyClick(table(opened, 1), Qt::Key_Space);
        QCOMPARE(opened.workspace.selection()->direction().sign, -1);
        QCOMPARE(column(table(opened, 1), 2, 0), expected(opened, 1, 1, false));
        QCOMPARE(column(table(opened, 1), 1, 0), expected(opened, 1, 0, true)); // the others stay
        QVERIFY(table(opened, 0)->model()->headerData(2, Qt::Horizontal).toString().startsWith(u'−'));
        for (int i = 0; i < 7; ++i)
            QTest::keyClick(&opened.page, Qt::Key_Right);
        QCOMPARE(opened.workspace.selection()->direction().index, 8);
        QTRY_VERIFY(table(opened, 0)->model()->headerData(1, Qt::Horizontal).toString().startsWith(u'9'));
        QCOMPARE(column(table(opened, 0), 1, 0), expected(opened, 0, 8, true));
        QTest::keyClick(&opened.page, Qt::Key_Left);
        QCOMPARE(opened.workspace.selection()->direction().index, 7);
        const QJsonObject state = opened.page.viewState();
        opened.workspace.selection()->setDirection({CircuitKind::Qk, 2, -1});
        QCOMPARE(opened.find<QComboBox>(QStringLiteral("Circuit of the singular vectors"))->currentIndex(),
                 1);
        opened.page.setViewState(state);
        QCOMPARE(opened.workspace.selection()->direction(), (SingularChoice{CircuitKind::Ov, 7, 1}));
    }

    void queriesAndKeysOfADirectionAreCompared()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        const HeadId head{1, 5};
        opened.workspace.selection()->setHead(head);
        const auto svd = singularDirections(*opened.workspace.model()->circuits(), CircuitKind::Qk, head);
        QVERIFY(isOk(svd));
        const auto titled = [&](const QString& words) -> QLabel* {
            for (auto* label : opened.page.findChildren<QLabel*>())
                if (label->text().contains(words))
                    return label;
            return nullptr;
        };
        opened.workspace.selection()->setDirection({CircuitKind::Qk, 2, 1});
        const QString cosine = QStringLiteral("cos(u, v) %1").arg(number(svd->U.col(2).dot(svd->V.col(2))));
        QLabel* label = nullptr;
        QTRY_VERIFY(label = titled(cosine));
        const double chance = 1 / std::sqrt(double(opened.workspace.model()->card().dModel));
        QVERIFY2(label->toolTip().contains(QStringLiteral("0 ± %1").arg(number(chance))),
                 qPrintable(label->toolTip()));
        opened.workspace.selection()->setDirection({CircuitKind::Ov, 2, 1});
        QTRY_VERIFY(label->text().contains(QStringLiteral("direction 3"))
                    && !label->text().contains(QStringLiteral("cos(")));
        QVERIFY(label->toolTip().isEmpty());
    }

    void degenerateBlocksAreBracketed()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        auto* chart = opened.find<LineChart>(QStringLiteral("Singular values"));
        int all = 0;
        for (int head = 0; head < 8; ++head) {
            opened.workspace.selection()->setHead({1, head});
            const auto svd =
                singularDirections(*opened.workspace.model()->circuits(), CircuitKind::Ov, {1, head});
            QTRY_VERIFY(!chart->series().empty() && chart->series().front().points.front().y() == svd->S(0));
            std::vector<ChartBracket> wanted;
            for (int first = 0, last = 0; first < svd->S.size(); first = last + 1) {
                last = first;
                while (last + 1 < svd->S.size() && svd->S(last) - svd->S(last + 1) < 0.01 * svd->S(last))
                    ++last;
                if (last > first)
                    wanted.push_back({double(first + 1), double(last + 1), svd->S(first)});
            }
            QCOMPARE(chart->brackets(), wanted);
            all += static_cast<int>(wanted.size());
        }
        QVERIFY(all > 0);
    }

    void aBlockIsReadByTheTokensOfItsSpan()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        SingularDirections svd;
        const auto blockIn = [&](int head) { // in the first eight directions
            svd = *singularDirections(*opened.workspace.model()->circuits(), CircuitKind::Ov, {1, head});
            for (int k = 0; k < 7; ++k)
                if (svd.S(k) - svd.S(k + 1) < 0.01 * svd.S(k))
                    return k;
            return -1;
        };
        int head = 0;
        while (head < 8 && blockIn(head) < 0)
            ++head;
        QVERIFY(head < 8); // the demo has such a head
        const int first = blockIn(head);
        int last = first + 1;
        while (last + 1 < svd.S.size() && svd.S(last) - svd.S(last + 1) < 0.01 * svd.S(last))
            ++last;
        opened.workspace.selection()->setHead({1, head});
        // ‖row of E U_block‖ from the dense product.
        const Eigen::MatrixXd span = svd.U.middleCols(first, last - first + 1);
        const RowVector<double> lengths =
            (*opened.workspace.model()->tokens()->E.whole<double>() * span).rowwise().norm().transpose();
        QStringList wanted;
        for (const TokenEntry& entry : ends(lengths, 10, opened.workspace.filteredTokens()->unused()).top)
            wanted << opened.workspace.model()->tokenText(entry.id);
        for (const int direction : {first, first + 1})
            QTRY_COMPARE(column(table(opened, 0), 1 + direction, 0), wanted);
        QCOMPARE(cellText(table(opened, 0), 10, 1 + first), QString()); // a length has one end
        const QString title = columnTitle(*table(opened, 0)->model(), 1 + first);
        QVERIFY2(title.startsWith(QStringLiteral("%1 of %1–%2").arg(first + 1).arg(last + 1)),
                 qPrintable(title));
        QCOMPARE(table(opened, 0)->model()->index(0, 1 + first).data(TokenTableModel::HeatRole).toDouble(),
                 0.0);
        showEach(opened);
        QCOMPARE(column(table(opened, 0), 1 + first, 0), expected(opened, 0, first, true));
        const auto isMuted = [&](int direction) {
            return table(opened, 0)
                ->model()
                ->index(0, 1 + direction)
                .data(TokenTableModel::IsMutedRole)
                .toBool();
        };
        QVERIFY(isMuted(first) && isMuted(first + 1));
        for (int k = 0; k < 8; ++k)
            QCOMPARE(table(opened, 0)->model()->index(0, 1 + k).data(TokenTableModel::HeatRole).isValid(),
                     !isMuted(k));
        QVERIFY(opened.page.viewState()[QStringLiteral("each")].toBool());
    }

    void aTokenIsFoundInTheDirectionsOfAllHeads()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        const int token = opened.workspace.model()->tokenizer()->encode(" king")->back();
        const auto hits =
            findInDirections(*opened.workspace.model()->circuits(), *opened.workspace.model()->tokens(),
                             {token, 20, {}, opened.workspace.filteredTokens()->unused()}, Task{});
        QVERIFY(hits && hits->size() > 3);
        auto* edit = opened.find<TokenEdit>(QStringLiteral("Token to look for in all directions"));
        QTest::keyClicks(edit, QStringLiteral("#%1").arg(token));
        QTest::keyClick(edit, Qt::Key_Return);
        auto* found = opened.find<TableFigure>(QStringLiteral("Directions with the token"));
        QTRY_COMPARE(found->model()->rowCount(), static_cast<int>(hits->size()));
        const DirectionHit& hit = (*hits)[3];
        QCOMPARE(cellText(found, 3, 0), text(hit.head));
        QCOMPARE(cellText(found, 3, 4), signedNumber(hit.score));
        for (int row = 0; row < found->model()->rowCount(); ++row) {
            const int together = (*hits)[static_cast<std::size_t>(row)].blockSize;
            const QModelIndex direction = found->model()->index(row, 2);
            QCOMPARE(direction.data().toString().startsWith(u'≈'), together > 1);
            QCOMPARE(direction.data(TokenTableModel::IsMutedRole).toBool(), together > 1);
            QCOMPARE(direction.data(Qt::ToolTipRole)
                         .toString()
                         .contains(QStringLiteral("One of %1 directions").arg(together)),
                     together > 1);
        }
        QVERIFY(std::ranges::any_of(*hits, [](const DirectionHit& one) { return one.blockSize > 1; }));
        QTest::mouseClick(found->viewport(), Qt::LeftButton, {},
                          found->visualRect(found->model()->index(3, 0)).center());
        QCOMPARE(opened.workspace.selection()->head(), hit.head);
        QCOMPARE(opened.workspace.selection()->direction(),
                 (SingularChoice{hit.circuit, hit.direction, hit.sign}));
        // The token stands in the column of that direction, at the place that was named.
        const int side = hit.side == VectorSide::First ? 0 : 1;
        QTRY_COMPARE(cellText(table(opened, side), hit.rank, 1 + hit.direction % 8),
                     opened.workspace.model()->tokenText(token));
    }
};

HEADWISE_TEST(VectorsPageTest)
#include "vectors_page_test.moc"
