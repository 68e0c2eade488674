#include "tests/support/program.h"

// Charts, grids of patterns and diagrams for screen readers: tables.

#include "ui/charts/diagram_view.h"
#include "ui/charts/pattern_grid.h"
#include "ui/charts/prompt_text.h"
#include "ui/charts/spectrum_chart.h"
#include "ui/pictures/picture_body.h"

#include <QAccessible>
#include <QTest>

#include <memory>

using namespace headwise;
using namespace headwise::ui;

namespace {

QString nameOf(QAccessibleInterface* part)
{
    return part ? part->text(QAccessible::Name) : QStringLiteral("(none)");
}

QStringList cellsOf(QWidget& view)
{
    QStringList cells;
    QAccessibleInterface* found = QAccessible::queryAccessibleInterface(&view);
    for (int i = 0; found && i < found->childCount(); ++i)
        cells << nameOf(found->child(i));
    return cells;
}

QAccessibleTableInterface* tableOf(QWidget& view)
{
    QAccessibleInterface* found = QAccessible::queryAccessibleInterface(&view);
    return found && found->role() == QAccessible::Table ? found->tableInterface() : nullptr;
}

void showOnScreen(QWidget& view)
{
    view.resize(400, 300);
    view.show();
    view.activateWindow();
    QVERIFY(QTest::qWaitForWindowActive(&view));
    view.setFocus();
}

} // namespace

class PictureAccessibleTest : public QObject {
    Q_OBJECT

private slots:
    void viewsOfAPictureAreNamedBeforeItIsDrawn()
    {
        using enum Picture::Kind;
        for (const Picture::Kind kind : {HeadGrid, Lines, Bars, Points, HeadPlane, Histogram, Matrix,
                                         HeadPairs, Table, Diagram, HeadMap}) {
            const std::unique_ptr<PictureBody> body(newPictureBody(kind, QStringLiteral("Copying"), nullptr));
            for (const QWidget* view : body->findChildren<QWidget*>())
                if (dynamic_cast<const FigureSource*>(view))
                    QVERIFY2(view->accessibleName().contains(QLatin1String("Copying")),
                             qPrintable(QStringLiteral("%1 of kind %2")
                                            .arg(QString::fromLatin1(view->metaObject()->className()))
                                            .arg(static_cast<int>(kind))));
        }
    }

    void seriesOverTheSameXShareTheirRows()
    {
        LineChart chart;
        chart.setLook({.xTitle = QStringLiteral("k"), .yTitle = QStringLiteral("σ")});
        chart.setSeries({{QStringLiteral("OV"), {{1, 4.123456789}, {2, 0.5}}},
                         {QStringLiteral("QK"), {{1, 3}, {2, 0.25}}}});
        showOnScreen(chart);
        QAccessibleTableInterface* table = tableOf(chart);
        QVERIFY(table);
        QCOMPARE(table->rowCount(), 2);
        QCOMPARE(table->columnCount(), 3);
        QCOMPARE(table->columnDescription(0), QStringLiteral("k"));
        QCOMPARE(table->columnDescription(2), QStringLiteral("QK"));
        const QStringList shown{QStringLiteral("1.00"), QStringLiteral("4.12"),  QStringLiteral("3.00"),
                                QStringLiteral("2.00"), QStringLiteral("0.500"), QStringLiteral("0.250")};
        QCOMPARE(cellsOf(chart), shown);
        QAccessibleInterface* cell = table->cellAt(0, 1);
        QCOMPARE(cell->text(QAccessible::Value), QStringLiteral("4.123456789"));
        QCOMPARE(cell->text(QAccessible::Description), QStringLiteral("1.00, OV"));
        QAccessibleInterface* whole = QAccessible::queryAccessibleInterface(&chart);
        QCOMPARE(whole->indexOfChild(cell), 1);
        QCOMPARE(nameOf(cell->tableCellInterface()->columnHeaderCells().first()), QStringLiteral("OV"));
        QCOMPARE(nameOf(cell->tableCellInterface()->rowHeaderCells().first()), QStringLiteral("1.00"));
        QVERIFY(cell->rect().contains(chart.mapToGlobal(chart.positionOf({1, 4.123456789}).toPoint())));
        QVERIFY(!table->cellAt(2, 0) && !table->cellAt(0, 3) && !table->cellAt(-1, 0));
        QVERIFY(!whole->focusChild());
        QTest::keyClick(&chart, Qt::Key_Right);
        QCOMPARE(whole->focusChild(), cell);
        QVERIFY(cell->state().focused);
        QTest::keyClick(&chart, Qt::Key_Right);
        QTest::keyClick(&chart, Qt::Key_Down);
        QCOMPARE(nameOf(whole->focusChild()), QStringLiteral("0.250"));
        chart.setSeries({}); // A reader may still hold the cell.
        QCOMPARE(table->rowCount(), 0);
        QVERIFY(!cell->isValid() && cell->text(QAccessible::Name).isEmpty());
    }

    void pointsOfTheirOwnXHaveRowsOfTheirOwn()
    {
        LineChart chart;
        chart.setLook({.xTitle = QStringLiteral("Re"), .yTitle = QStringLiteral("Im"), .xLabels = {}});
        chart.setSeries({{QStringLiteral("OV"), {{1, 2}}, SeriesStyle::Points},
                         {QStringLiteral("QK"), {{3, 4}, {5, 6}}, SeriesStyle::Points}});
        showOnScreen(chart);
        const QStringList rows{QStringLiteral("1.00"), QStringLiteral("2.00"), {}, QStringLiteral("3.00"), {},
                               QStringLiteral("4.00"), QStringLiteral("5.00"), {}, QStringLiteral("6.00")};
        QCOMPARE(cellsOf(chart), rows);
        QTest::keyClick(&chart, Qt::Key_Right);
        QTest::keyClick(&chart, Qt::Key_Down);
        QTest::keyClick(&chart, Qt::Key_End);
        QCOMPARE(nameOf(QAccessible::queryAccessibleInterface(&chart)->focusChild()), QStringLiteral("6.00"));
    }

    void theGridOfPatternsSaysWhereEachHeadLooks()
    {
        PatternGrid grid;
        auto patterns = std::make_shared<Patterns>(2, std::vector(3, Eigen::MatrixXf(4, 4)));
        for (auto& layer : *patterns)
            for (Eigen::MatrixXf& pattern : layer)
                pattern = Eigen::MatrixXf::Identity(4, 4) * 0.5F;
        (*patterns)[1][2](3, 1) = 0.75F;
        grid.setPatterns(std::make_shared<Patterns>(smallPatterns(*patterns, 2)), patterns);
        grid.setCurrent({1, 2});
        showOnScreen(grid);
        QAccessibleTableInterface* table = tableOf(grid);
        QVERIFY(table);
        QCOMPARE(table->rowCount(), 2);
        QCOMPARE(table->columnCount(), 3);
        QCOMPARE(table->rowDescription(1), QStringLiteral("layer 1"));
        QCOMPARE(table->columnDescription(2), QStringLiteral("head 2"));
        QCOMPARE(nameOf(table->cellAt(1, 2)), QStringLiteral("L1H2: strongest 0.750, position 3 to 1"));
        QCOMPARE(table->cellAt(1, 2)->text(QAccessible::Value), QStringLiteral("0.75"));
        QCOMPARE(QAccessible::queryAccessibleInterface(&grid)->focusChild(), table->cellAt(1, 2));
        grid.setPatterns(nullptr, nullptr);
        QCOMPARE(table->rowCount(), 0);
        QVERIFY(!QAccessible::queryAccessibleInterface(&grid)->focusChild());
    }

    void aDiagramIsTheListOfItsEdges()
    {
        DiagramView diagram;
        diagram.setHeads(2, 4);
        diagram.setEdges({{{0, 1}, {1, 3}, 0.125}, {{0, 2}, {1, 0}, -0.5}});
        showOnScreen(diagram);
        QAccessibleTableInterface* table = tableOf(diagram);
        QVERIFY(table);
        const QStringList cells{QStringLiteral("L0H1"), QStringLiteral("L1H3"), QStringLiteral("0.125"),
                                QStringLiteral("L0H2"), QStringLiteral("L1H0"), QStringLiteral("−0.500")};
        QCOMPARE(cellsOf(diagram), cells);
        QCOMPARE(table->columnDescription(2), QStringLiteral("value"));
        QCOMPARE(table->rowDescription(0), QStringLiteral("L0H1 → L1H3"));
        QCOMPARE(table->cellAt(1, 2)->text(QAccessible::Value), QStringLiteral("-0.5"));
        QVERIFY(diagram.focusPolicy() & Qt::TabFocus);
    }

    void aReaderOfManyCellsHoldsAFew()
    {
        LineChart chart;
        QVector<QPointF> points;
        for (int i = 0; i < 3000; ++i)
            points << QPointF(i, 2 * i);
        chart.setSeries({{QStringLiteral("line"), points}});
        QAccessibleTableInterface* table = tableOf(chart);
        for (int i = 0; i < 3000; ++i)
            QCOMPARE(table->cellAt(i, 1)->text(QAccessible::Value), QString::number(2 * i));
    }

    void tokensOfAPromptAreRows()
    {
        PromptText text;
        Eigen::MatrixXf pattern(2, 2);
        pattern << 1, 0, 0.25F, 0.75F;
        text.setPattern({QStringLiteral("a"), QStringLiteral("b")},
                        std::make_shared<const Eigen::MatrixXf>(pattern));
        showOnScreen(text);
        QAccessibleTableInterface* table = tableOf(text);
        QVERIFY(table);
        QCOMPARE(table->rowCount(), 2);
        QCOMPARE(table->rowDescription(1), QStringLiteral("b"));
        QCOMPARE(table->columnDescription(0), QStringLiteral("attention of b"));
        QCOMPARE(cellsOf(text), (QStringList{QStringLiteral("0.250"), QStringLiteral("0.750")}));
        text.setQuery(0);
        QCOMPARE(nameOf(table->selectedCells().value(0)), QStringLiteral("1.00"));
    }
};

HEADWISE_TEST(PictureAccessibleTest)
#include "picture_accessible_test.moc"
