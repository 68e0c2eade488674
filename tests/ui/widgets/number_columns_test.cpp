#include "ui/widgets/number_columns.h"

#include "tests/support/program.h"

#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/models/token_table_model.h"
#include "ui/widgets/table_cells.h"
#include "ui/widgets/table_copy.h"
#include "ui/widgets/table_figure.h"

#include <QImage>
#include <QStandardItemModel>
#include <QTest>

#include <optional>

using namespace headwise::ui;

namespace {

/// The ink of a row of a table: the first and last column of pixels, and the position of the decimal point, the glyph
/// whose ink is all at the foot of the line.
struct Ink {
    int first = -1, last = -1;
    std::optional<int> point = {};
};

Ink inkOf(TableFigure& table, int row, int column)
{
    const QRect room = table.visualRect(table.model()->index(row, column));
    const QImage drawn = table.viewport()->grab(room).toImage();
    const QRgb ground = drawn.pixel(0, 1);
    const auto isInk = [&](int x, int y) { return qGray(drawn.pixel(x, y)) < qGray(ground) - 60; };
    int foot = 0;
    for (int y = 0; y < drawn.height(); ++y)
        for (int x = 0; x < drawn.width(); ++x)
            foot = isInk(x, y) ? y : foot;
    Ink ink;
    int begin = -1, highest = 0; // of the glyph under way
    for (int x = 0; x <= drawn.width(); ++x) {
        int top = drawn.height();
        for (int y = drawn.height() - 1; y >= 0 && x < drawn.width(); --y)
            top = isInk(x, y) ? y : top;
        if (top < drawn.height()) {
            ink.first = ink.first < 0 ? x : ink.first;
            ink.last = x;
            highest = begin < 0 ? top : std::min(highest, top);
            begin = begin < 0 ? x : begin;
        } else if (begin >= 0) {
            if (highest > foot - 3)
                ink.point = begin;
            begin = -1;
        }
    }
    return ink;
}

} // namespace

class NumberColumnsTest : public QObject {
    Q_OBJECT

private:
    QStandardItemModel m_model;
    TableFigure m_table;

    void fill(const std::vector<double>& values)
    {
        m_model.clear();
        m_model.setHorizontalHeaderLabels({QStringLiteral("Value")});
        for (const double value : values)
            m_model.appendRow(numberCell(value));
        m_table.resizeColumnsToContents();
    }

private slots:
    void init()
    {
        applyTheme(*qApp, ThemeMode::Light);
        m_model.clear();
        m_table.setSource(&m_model, TokenTableModel::SortRole);
        m_table.setAlternatingRowColors(false);
        m_table.resize(400, 400);
        m_table.show();
    }

    void aNumberIsCutAtItsPoint_data()
    {
        QTest::addColumn<QString>("number");
        QTest::addColumn<int>("point");
        QTest::newRow("small") << number(-0.0234) << 2;
        QTest::newRow("signed") << signedNumber(4.31) << 2;
        QTest::newRow("power of ten") << number(1.2e-5) << 1;
        QTest::newRow("percent") << percent(0.123) << 2;
        QTest::newRow("whole percent") << percent(1.23) << 3;
        QTest::newRow("thousands") << count(50257) << 6;
        QTest::newRow("no number") << QStringLiteral("NaN") << 3;
        QTest::newRow("a dash") << QStringLiteral("–") << 1;
        QTest::newRow("a sign alone") << number(-1.0 / 0.0) << 2;
        QTest::newRow("nothing") << QString() << 0;
    }
    void aNumberIsCutAtItsPoint()
    {
        QFETCH(QString, number);
        QFETCH(int, point);
        QCOMPARE(decimalPoint(number), point);
    }

    void pointsStandBelowOneAnother()
    {
        fill({0.0808, 0.808, 8.08, 80.8, -0.00808, 808});
        std::vector<Ink> inks;
        for (int row = 0; row < 6; ++row)
            inks.push_back(inkOf(m_table, row, 0));
        QVERIFY(inks[0].point.has_value());
        for (int row = 1; row < 5; ++row) {
            QVERIFY2(inks[static_cast<std::size_t>(row)].point.has_value(), qPrintable(QString::number(row)));
            QVERIFY(std::abs(*inks[static_cast<std::size_t>(row)].point - *inks[0].point) <= 1);
        }
        QVERIFY(!inks[5].point);
        QVERIFY(inks[5].last < *inks[0].point
                && inks[5].last > *inks[0].point - 4); // its ones stand with theirs
        // The longest part decides, and nothing is cut off: every number has its full width.
        const QFontMetrics metrics(numberFont());
        for (int row = 0; row < 6; ++row) {
            const Ink& ink = inks[static_cast<std::size_t>(row)];
            const int wide = metrics.tightBoundingRect(m_model.item(row)->text()).width();
            QVERIFY2(std::abs(ink.last - ink.first + 1 - wide) <= 3, qPrintable(m_model.item(row)->text()));
        }
    }

    void rowsThatComeLaterMoveThePoints()
    {
        fill({8.08, 80.8});
        const Ink before = inkOf(m_table, 0, 0);
        QVERIFY(before.point);
        m_model.appendRow(numberCell(0.000808));
        const Ink after = inkOf(m_table, 0, 0); // the column is as wide as it was
        QVERIFY(after.point);
        QVERIFY(*after.point < *before.point);
        m_model.removeRow(2);
        QCOMPARE(*inkOf(m_table, 0, 0).point, *before.point);
    }

    void aNarrowColumnIsRatherAskewThanCut()
    {
        fill({0.000808, 808.0, 80.8});
        const int needed = QFontMetrics(numberFont()).horizontalAdvance(m_model.item(0)->text());
        m_table.setColumnWidth(0, needed + 12);
        const Ink whole = inkOf(m_table, 0, 0);
        const int wide = QFontMetrics(numberFont()).tightBoundingRect(m_model.item(0)->text()).width();
        QVERIFY(std::abs(whole.last - whole.first + 1 - wide) <= 3);
        const Ink integer = inkOf(m_table, 1, 0);
        QVERIFY(integer.first >= 0);
    }

    void sortingAndCopyingAreAsTheyWere()
    {
        fill({0.0808, 808, 8.08});
        m_table.sortByColumn(0, Qt::DescendingOrder);
        QCOMPARE(m_table.dataRow(0), QStringList{exactNumber(808.0)});
        QCOMPARE(m_table.dataRow(2), QStringList{exactNumber(0.0808)});
        QCOMPARE(m_table.model()->index(2, 0).data().toString(), number(0.0808)); // no padding in it
    }
};

HEADWISE_TEST(NumberColumnsTest)
#include "number_columns_test.moc"
