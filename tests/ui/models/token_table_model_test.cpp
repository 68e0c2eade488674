#include "ui/models/token_table_model.h"

#include "tests/support/printed.h"
#include "tests/support/program.h"

#include <QAbstractItemModelTester>
#include <QSortFilterProxyModel>
#include <QTest>

using namespace headwise;
using namespace headwise::ui;

namespace {

TokenTableModel::Rows twoTokens()
{
    return std::make_shared<std::vector<TokenRow>>(
        std::vector<TokenRow>{{7, QStringLiteral("␣the"), 4.3125, false, true},
                              {0, QStringLiteral("<|endoftext|>"), -12, true, false}});
}

} // namespace

class TokenTableModelTest : public QObject {
    Q_OBJECT

private slots:
    void showsRankTokenIdAndValue()
    {
        TokenTableModel model;
        const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
        model.setRows(twoTokens());
        const QStringList expected{QStringLiteral("1|␣the|7|+4.31|||"),
                                   QStringLiteral("2|<|endoftext|>|0|−12.0|||")};
        QCOMPARE(test::printed(model), expected);
    }

    void sortsByTheNumberAndNotByItsText()
    {
        TokenTableModel model;
        model.setRows(twoTokens());
        QSortFilterProxyModel sorted;
        sorted.setSourceModel(&model);
        sorted.setSortRole(TokenTableModel::SortRole);
        sorted.sort(TokenTableModel::ValueColumn, Qt::AscendingOrder);
        QCOMPARE(sorted.index(0, TokenTableModel::IdColumn).data().toInt(), 0);
    }

    void titlesStandAsTheirColumnsDo()
    {
        TokenTableModel model;
        model.setRows(twoTokens());
        for (int column = 0; column < TokenTableModel::ColumnCount; ++column)
            QCOMPARE(model.headerData(column, Qt::Horizontal, Qt::TextAlignmentRole).toInt(),
                     model.index(0, column).data(Qt::TextAlignmentRole).toInt());
    }

    void theFullValueIsOneHoverAway()
    {
        TokenTableModel model;
        model.setRows(twoTokens());
        QVERIFY(model.index(0, TokenTableModel::ValueColumn)
                    .data(Qt::ToolTipRole)
                    .toString()
                    .contains(QStringLiteral("4.3125")));
    }

    void tellsTheDelegateWhatToDraw()
    {
        TokenTableModel model;
        model.setRows(twoTokens());
        const QModelIndex source = model.index(0, TokenTableModel::TokenColumn);
        const QModelIndex special = model.index(1, TokenTableModel::TokenColumn);
        QVERIFY(source.data(TokenTableModel::IsSourceRole).toBool()
                && !source.data(TokenTableModel::IsSpecialRole).toBool());
        QVERIFY(special.data(TokenTableModel::IsSpecialRole).toBool()
                && !special.data(TokenTableModel::IsSourceRole).toBool());
        QVERIFY(source.data(TokenTableModel::IsTokenRole).toBool());
        QVERIFY(!model.index(0, TokenTableModel::IdColumn).data(TokenTableModel::IsTokenRole).toBool());
    }

    void valuesAreColouredOnOneScaleOfTheTable()
    {
        TokenTableModel model;
        model.setRows(twoTokens());
        const auto heat = [&model](int row, int column) {
            return model.index(row, column).data(TokenTableModel::HeatRole);
        };
        QCOMPARE(heat(0, TokenTableModel::ValueColumn).toDouble(), 4.3125 / 12);
        QCOMPARE(heat(1, TokenTableModel::ValueColumn).toDouble(), -1.0);
        QVERIFY(!heat(0, TokenTableModel::RankColumn).isValid());
        model.setRows(twoTokens(), 24); // shared with the table beside it
        QCOMPARE(heat(1, TokenTableModel::ValueColumn).toDouble(), -0.5);
    }

    void aNullTableIsEmpty()
    {
        TokenTableModel model;
        model.setRows(twoTokens());
        model.setRows(nullptr);
        QCOMPARE(model.rowCount(), 0);
    }
};

HEADWISE_TEST(TokenTableModelTest)
#include "token_table_model_test.moc"
