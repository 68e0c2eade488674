#include "ui/models/head_table_model.h"

#include "tests/support/printed.h"
#include "tests/support/program.h"

#include <QAbstractItemModelTester>
#include <QSortFilterProxyModel>
#include <QTest>

#include <cmath>

using namespace headwise;
using namespace headwise::ui;

namespace {

HeadTableModel::Scores threeHeads()
{
    return std::make_shared<std::vector<HeadScore>>(std::vector<HeadScore>{
        {{0, 1}, -0.5, -20}, {{1, 5}, 0.93, 40}, {{1, 6}, std::nan(""), std::nan("")}});
}

} // namespace

class HeadTableModelTest : public QObject {
    Q_OBJECT

private slots:
    void showsHeadScoreAndDistanceFromChance()
    {
        HeadTableModel model;
        const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
        model.setScores(threeHeads(), QStringLiteral("Copying"));
        const QStringList expected{QStringLiteral("L0H1|−0.500|−20.0"), QStringLiteral("L1H5|0.930|40.0"),
                                   QStringLiteral("L1H6|–|–")};
        QCOMPARE(test::printed(model), expected);
        QCOMPARE(model.headerData(1, Qt::Horizontal, Qt::DisplayRole).toString(), QStringLiteral("Copying"));
    }

    void ranksHeadsByTheNumberWithMissingOnesLast()
    {
        HeadTableModel model;
        model.setScores(threeHeads(), {});
        QSortFilterProxyModel sorted;
        sorted.setSourceModel(&model);
        sorted.setSortRole(HeadTableModel::SortRole);
        sorted.sort(HeadTableModel::ValueColumn, Qt::DescendingOrder);
        QStringList order;
        for (int row = 0; row < sorted.rowCount(); ++row)
            order << sorted.index(row, 0).data().toString();
        QCOMPARE(order,
                 (QStringList{QStringLiteral("L1H5"), QStringLiteral("L0H1"), QStringLiteral("L1H6")}));
    }

    void withoutANullThereIsNoDistanceFromIt()
    {
        HeadTableModel model;
        model.setScores(threeHeads(), {});
        QCOMPARE(model.columnCount(), 3);
        model.setScores(
            std::make_shared<std::vector<HeadScore>>(std::vector<HeadScore>{{{0, 1}, -0.5, std::nan("")}}),
            {});
        QCOMPARE(test::printed(model), QStringList{QStringLiteral("L0H1|−0.500")});
    }

    void findsTheRowOfAHead()
    {
        HeadTableModel model;
        QCOMPARE(model.rowOf({1, 5}), -1);
        model.setScores(threeHeads(), {});
        QCOMPARE(model.rowOf({1, 5}), 1);
        QCOMPARE(model.rowOf({3, 3}), -1);
        QCOMPARE(model.headAt(2), (HeadId{1, 6}));
    }
};

HEADWISE_TEST(HeadTableModelTest)
#include "head_table_model_test.moc"
