#include "tests/support/program.h"

// Out-of-range values, norms and labels at the edges of a heatmap, and its screen reader text.

#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/heatmaps/color_bar.h"
#include "ui/heatmaps/heatmap_panel.h"
#include "ui/heatmaps/heatmap_view.h"
#include "ui/heatmaps/shared_scale.h"

#include <QAccessible>
#include <QApplication>
#include <QBuffer>
#include <QMenu>
#include <QPainter>
#include <QSvgGenerator>
#include <QTest>

#include <limits>

using namespace headwise;
using namespace headwise::ui;

namespace {

const ColorScale fixedScale{.low = -1, .high = 1, .fit = ColorFit::Fixed};

std::shared_ptr<Eigen::MatrixXf> zeroMatrix(int rows, int columns)
{
    return std::make_shared<Eigen::MatrixXf>(Eigen::MatrixXf::Zero(rows, columns));
}

void showScaled(HeatmapView& view, std::shared_ptr<const Eigen::MatrixXf> matrix)
{
    view.resize(360, 300);
    view.colors()->proposeScale(fixedScale);
    view.setMatrix(std::move(matrix));
    view.show();
    QVERIFY(QTest::qWaitForWindowExposed(&view));
}

int countOf(const QImage& image, const QRect& area, QRgb color)
{
    int found = 0;
    for (int y = area.top(); y <= area.bottom(); ++y)
        for (int x = area.left(); x <= area.right(); ++x)
            found += image.pixel(x, y) == color ? 1 : 0;
    return found;
}

QAction* entry(ColorBar& bar, const QString& text)
{
    QContextMenuEvent event(QContextMenuEvent::Mouse, {6, 100}, bar.mapToGlobal(QPoint(6, 100)));
    QApplication::sendEvent(&bar, &event);
    QMenu* menu = bar.findChildren<QMenu*>(QString(), Qt::FindDirectChildrenOnly).constLast();
    for (QMenu* part : QList{menu} + menu->findChildren<QMenu*>())
        for (QAction* action : part->actions())
            if (action->text() == text)
                return action;
    return nullptr;
}

} // namespace

class HeatmapScaleTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() { applyTheme(*qApp, ThemeMode::Light); }

    void aLargeCellBeyondTheLimitsIsMarkedAndCounted()
    {
        HeatmapView view;
        const auto matrix = zeroMatrix(2, 3);
        (*matrix)(0, 1) = 5;
        (*matrix)(1, 2) = 1; // At the limit, not beyond it.
        showScaled(view, matrix);
        const QImage image = view.grab().toImage();
        const auto corner = [&](int row, int column) {
            const QRect cell = view.cells().rect(row, column).toRect();
            return QRect(cell.right() - 8, cell.top() + 1, 7, 8);
        };
        const QRgb full = colorOf(1, fixedScale);
        QVERIFY(countOf(image, corner(0, 1), full) < 7 * 8 - 10); // The triangle.
        QCOMPARE(countOf(image, corner(1, 2), full), 7 * 8);
        QCOMPARE(view.note().text(), QStringLiteral("1 value beyond the limits"));
    }

    /// The note has a strip of its own: it covers no cell, and nothing of it is cut, whatever the size.
    void theNoteCoversNoCell_data()
    {
        QTest::addColumn<QSize>("size");
        QTest::addColumn<QSize>("cells");
        QTest::addColumn<HeatmapView::CellShape>("shape");
        using enum HeatmapCellShape;
        QTest::newRow("stretched") << QSize(360, 300) << QSize(3, 2) << Stretched;
        QTest::newRow("narrower than the words") << QSize(150, 300) << QSize(3, 2) << Stretched;
        QTest::newRow("flat") << QSize(230, 140) << QSize(32, 1024) << Stretched;
        QTest::newRow("square with room below") << QSize(360, 300) << QSize(3, 2) << Square;
        QTest::newRow("square without") << QSize(560, 300) << QSize(256, 256) << Square;
        QTest::newRow("least") << QSize(120, 120) << QSize(400, 400) << Square;
    }
    void theNoteCoversNoCell()
    {
        QFETCH(QSize, size);
        QFETCH(QSize, cells);
        QFETCH(HeatmapView::CellShape, shape);
        HeatmapView view;
        const auto matrix = zeroMatrix(cells.height(), cells.width());
        (*matrix)(0, 1) = 5;
        showScaled(view, matrix);
        view.setCellShape(shape);
        view.resize(size);
        QVERIFY(view.note().text().contains(QStringLiteral("1 value beyond the limits")));
        const QRectF place = view.cells().area();
        QVERIFY(view.note().area().top() > place.bottom());
        QVERIFY(QRectF(view.rect()).contains(view.note().area()));
        QVERIFY(place.height() > 10);
        view.zoom()->zoomAt({0.5, 0.5}, 4, 4); // Its words are others now, but the cells stay in place.
        QCOMPARE(view.cells().area(), place);
        QVERIFY(view.note().area().top() > place.bottom());
    }

    /// Two views that are compared have cells of the same size, whichever of them has a note.
    void notesOfComparedViewsHaveTheSameRoom()
    {
        HeatmapView first, second;
        first.alignWith(&second);
        showScaled(first, zeroMatrix(2, 3));
        const auto matrix = zeroMatrix(2, 3);
        (*matrix)(0, 1) = 5;
        showScaled(second, matrix);
        QVERIFY(first.note().text().isEmpty() && !second.note().text().isEmpty());
        QCOMPARE(first.cells().area(), second.cells().area());
        QVERIFY(second.note().area().top() > second.cells().area().bottom());
        second.setMatrix(zeroMatrix(2, 3));
        QCOMPARE(first.cells().area(), second.cells().area());
    }

    /// A note that appears or grows takes its room from the cells.
    void aNoteThatAppearsMovesTheCells()
    {
        HeatmapView view;
        const auto matrix = zeroMatrix(2, 3);
        (*matrix)(0, 1) = 5;
        showScaled(view, matrix);
        view.colors()->setScale({.fit = ColorFit::Full});
        view.setMatrix(matrix);
        QVERIFY(view.note().area().isEmpty());
        const double bottom = view.cells().area().bottom();
        view.colors()->setScale(fixedScale);
        QVERIFY(view.cells().area().bottom() < bottom - 8);
        QVERIFY(view.note().area().top() > view.cells().area().bottom());
        QVERIFY(QRectF(view.rect()).contains(view.note().area()));
    }

    /// The bar is next to square cells and as long as they are, however much space there is.
    void aBarKeepsToItsCells_data()
    {
        QTest::addColumn<Qt::Orientation>("orientation");
        QTest::newRow("below") << Qt::Horizontal;
        QTest::newRow("beside") << Qt::Vertical;
    }
    void aBarKeepsToItsCells()
    {
        QFETCH(Qt::Orientation, orientation);
        const bool isBelow = orientation == Qt::Horizontal;
        HeatmapPanel panel(nullptr, orientation);
        HeatmapView* view = panel.view();
        view->setCellShape(HeatmapView::CellShape::Square);
        const auto* bar = panel.findChild<ColorBar*>();
        const QSize size(300, 600);
        panel.resize(isBelow ? size : size.transposed());
        panel.show();
        const auto distance = [&] {
            return isBelow ? bar->y() - view->cells().area().bottom()
                           : bar->x() - view->cells().area().right();
        };
        for (const int lines : {2, 20}) {
            view->setMatrix(isBelow ? zeroMatrix(lines, 8) : zeroMatrix(8, lines));
            QCoreApplication::sendPostedEvents(nullptr, QEvent::LayoutRequest); // before anything is painted
            QVERIFY(distance() >= 0 && distance() < 24);
            QVERIFY(panel.rect().contains(bar->geometry()));
            panel.resize(panel.size() + QSize(60, 60)); // and back
            QTRY_VERIFY(distance() >= 0 && distance() < 24);
            panel.resize(panel.size() - QSize(60, 60));
            QTRY_VERIFY(distance() >= 0 && distance() < 24);
        }
        view->setMatrix(nullptr);
        QTRY_VERIFY((isBelow ? view->height() : view->width()) > 500);
    }

    void aSmallCellBeyondTheLimitsHasTheColourOfItsEnd()
    {
        HeatmapView view;
        const auto matrix = zeroMatrix(100, 100);
        (*matrix)(90, 90) = 5;
        (*matrix)(20, 20) = -5;
        (*matrix)(60, 60) = 1;
        showScaled(view, matrix);
        const QImage image = view.grab().toImage();
        const auto at = [&](int row, int column) {
            return image.pixel(view.cells().rect(row, column).center().toPoint());
        };
        QCOMPARE(at(90, 90), colorOf(1, fixedScale));
        QCOMPARE(at(20, 20), colorOf(-1, fixedScale));
        QCOMPARE(at(60, 60), colorOf(1, fixedScale));
        QVERIFY(view.note().text().contains(QStringLiteral("2 values beyond the limits")));
        view.colors()->setScale({.fit = ColorFit::Full}); // The positive control: nothing lies beyond these.
        QVERIFY(!view.note().text().contains(QStringLiteral("beyond")));
    }

    /// A strong negative outlier would look like a positive one if both were drawn in one colour.
    void anOutlierKeepsTheColourOfItsSignInEveryTheme()
    {
        for (const ColorMap map : allColorMaps) {
            const ColorScale scale{.map = map, .low = -1, .high = 1, .fit = ColorFit::Fixed};
            const auto outliers = zeroMatrix(100, 100);
            (*outliers)(3, 4) = -9;
            (*outliers)(5, 6) = 9;
            HeatmapScene scene;
            scene.matrix = outliers;
            scene.scale = scale;
            scene.visible = QRectF(0, 0, 100, 100);
            MatrixPyramid pyramid(outliers, Aggregate::Strongest);
            const QImage image = heatmapImage(scene, pyramid, {100, 100}, lightColors());
            QCOMPARE(image.pixel(4, 3), colorOf(-1, scale));
            QCOMPARE(image.pixel(6, 5), colorOf(1, scale));
        }
    }

    /// A minus sign makes a number wider. If only numbers that fit were drawn, the negative ones would be missing.
    void theNumbersOfAllCellsAreDrawnOrOfNone()
    {
        const auto inks = [](int side) {
            const auto matrix = zeroMatrix(1, 2);
            *matrix << 0.123F, -0.123F;
            HeatmapScene scene;
            scene.matrix = matrix;
            scene.scale = fixedScale;
            scene.visible = QRectF(0, 0, 2, 1);
            QImage image(2 * side, 40, QImage::Format_RGB32);
            image.fill(Qt::green);
            QPainter painter(&image);
            paintHeatmapValues(painter, QRectF(image.rect()), scene, qApp->font());
            painter.end();
            const auto painted = [&](int left) {
                return side * 40 - countOf(image, QRect(left, 0, side, 40), QColor(Qt::green).rgb());
            };
            return std::pair(painted(0), painted(side));
        };
        const QFontMetricsF metrics(qApp->font());
        const auto widthOf = [&](double value) { return metrics.horizontalAdvance(number(value)); };
        QVERIFY(widthOf(-0.123F) > widthOf(0.123F) + 1);
        const auto [positive, negative] = inks(static_cast<int>(widthOf(-0.123F)) + 8);
        QVERIFY(positive > 0 && negative > 0);
        QCOMPARE(inks(static_cast<int>(widthOf(0.123F)) + 3), std::pair(0, 0));
    }

    /// Square cells can be narrower than the widget lets one expect.
    void columnNamesDoNotCoverEachOther()
    {
        HeatmapScene scene;
        scene.matrix = zeroMatrix(12, 12);
        scene.columns.label = [](int column) { return QStringLiteral("column%1").arg(column, 3); };
        scene.visible = QRectF(0, 0, 12, 12);
        const HeatmapFonts fonts{qApp->font(), tokenFont()};
        const double width = QFontMetricsF(fonts.labels).horizontalAdvance(scene.columns.label(0));
        const QRectF cells(100, 100, 4 * width, 4 * width);
        QBuffer svg;
        QSvgGenerator generator;
        generator.setOutputDevice(&svg);
        generator.setSize({2000, 2000});
        QPainter painter(&generator);
        paintHeatmapAxes(painter, cells, {.columnLabels = 20, .flatColumnLabels = true}, scene,
                         {fonts, lightColors()});
        painter.end();
        const auto drawn = svg.data().count("column");
        QVERIFY2(drawn >= 2 && drawn <= 4, qPrintable(QString::number(drawn)));
    }

    /// A part of one matrix means nothing in a matrix of another size.
    void theZoomIsKeptForAMatrixOfTheSameSizeOnly()
    {
        HeatmapView view;
        const HeatmapState zoomed{.zoomX = 2, .zoomY = 2, .centerX = 0.3, .centerY = 0.4};
        view.zoom()->setState(zoomed); // restored before there is a matrix
        showScaled(view, zeroMatrix(10, 12));
        QVERIFY(view.zoom()->state() == zoomed);
        view.setMatrix(nullptr);
        view.setMatrix(zeroMatrix(10, 12));
        QVERIFY(view.zoom()->state() == zoomed);
        view.setMatrix(zeroMatrix(12, 10));
        QVERIFY(view.zoom()->state() == HeatmapState());
        QCOMPARE(view.scene().visible, QRectF(0, 0, 10, 12));
    }

    void keysLockInvertAndCentre()
    {
        HeatmapView view;
        showScaled(view, std::make_shared<Eigen::MatrixXf>(Eigen::MatrixXf::Random(30, 30)));
        view.colors()->setScale({.map = ColorMap::Viridis, .fit = ColorFit::Percentiles, .percentile = 90});
        const float high = view.colors()->scale().high;
        QTest::keyClick(&view, Qt::Key_L);
        QVERIFY(view.note().text().contains(QStringLiteral("limits locked")));
        view.setMatrix(std::make_shared<Eigen::MatrixXf>(Eigen::MatrixXf::Random(30, 30) * 100));
        QCOMPARE(view.colors()->scale().high, high);
        QTest::keyClick(&view, Qt::Key_L);
        QCOMPARE(view.colors()->scale().fit, ColorFit::Percentiles);
        QVERIFY(view.colors()->scale().high > 10 * high);
        QTest::keyClick(&view, Qt::Key_I);
        QVERIFY(view.colors()->scale().inverted);
        QTest::keyClick(&view, Qt::Key_Z);
        QCOMPARE(view.colors()->scale().map, ColorMap::Signed);
        QCOMPARE(view.colors()->scale().low, -view.colors()->scale().high);
        view.zoom()->setCurrentCell(3, 3);
        view.pointer().setLettersMove(true); // A grid of heads is walked through with them.
        QTest::keyClick(&view, Qt::Key_L);
        QCOMPARE(view.zoom()->state().column, 4);
        QCOMPARE(view.colors()->scale().fit, ColorFit::Percentiles);
    }

    void theMeanOfAMatrixIsWhatItSays()
    {
        HeatmapView view;
        const auto matrix = zeroMatrix(1024, 1024);
        matrix->col(512).setConstant(64);
        showScaled(view, matrix);
        const QImage strongest = view.grab().toImage();
        view.content()->setAggregate(Aggregate::Mean);
        QVERIFY2(view.note().text().startsWith(QStringLiteral("each pixel: mean of ")),
                 qPrintable(view.note().text()));
        const QImage mean = view.grab().toImage();
        const QPoint at = view.cells().rect(300, 512).center().toPoint();
        QCOMPARE(strongest.pixel(at), colorOf(1, fixedScale));
        MatrixPyramid pyramid(matrix, Aggregate::Mean);
        QCOMPARE(pyramid.level(3)(17, 64), 8.0F); // One of eight columns.
        QCOMPARE(pyramid.level(10)(0, 0), 64.0F / 1024);
        QVERIFY(mean.pixel(at) != colorOf(0, fixedScale));
        const auto odd = std::make_shared<Eigen::MatrixXf>(Eigen::MatrixXf::Random(37, 53));
        MatrixPyramid ofOdd(odd, Aggregate::Mean);
        QVERIFY(std::abs(ofOdd.level(6)(0, 0) - odd->mean()) < 1e-6F);
    }

    void normsStandAtTheEdges()
    {
        HeatmapView view;
        const auto matrix = zeroMatrix(2, 2);
        *matrix << 3, 0, 4, 0; // Norms of columns 5 and 0, of rows 3 and 4.
        showScaled(view, matrix);
        const QRectF before = view.cells().rect(0, 0);
        view.content()->setNormBars(true);
        QVERIFY(view.cells().rect(0, 0).width() < before.width()); // They need room.
        const QImage image = view.grab().toImage();
        const QRgb ink = lightColors().muted.rgb();
        const auto across = [&](int row) {
            const QRect cell = view.cells().rect(row, 1).toRect();
            return countOf(image, {cell.right() + 3, cell.center().y(), 26, 1}, ink);
        };
        const auto down = [&](int column) {
            const QRect cell = view.cells().rect(1, column).toRect();
            return countOf(image, {cell.center().x(), cell.bottom() + 3, 1, 26}, ink);
        };
        QVERIFY(across(1) >= 20);
        QVERIFY(std::abs(across(0) - 0.75 * across(1)) <= 1.5);
        QVERIFY(down(0) >= 20);
        QCOMPARE(down(1), 0);
    }

    void aScaleCanBeSharedFromTheMenu()
    {
        QWidget window;
        auto* first = new HeatmapView(&window);
        auto* second = new HeatmapView(&window);
        ColorBar firstBar(Qt::Vertical, &window);
        ColorBar secondBar(Qt::Vertical, &window);
        firstBar.follow(first);
        secondBar.follow(second);
        first->setMatrix(std::make_shared<Eigen::MatrixXf>(Eigen::MatrixXf::Constant(2, 2, 3)));
        second->setMatrix(std::make_shared<Eigen::MatrixXf>(Eigen::MatrixXf::Constant(2, 2, 8)));
        const QString share = QStringLiteral("Share the scale with other matrices");
        entry(firstBar, share)->trigger();
        QCOMPARE(first->colors()->scale().high, 3.0F);
        entry(secondBar, share)->trigger();
        QCOMPARE(first->colors()->scale().high, 8.0F);
        QVERIFY(first->note().text().contains(QStringLiteral("scale shared by 2")));
        entry(secondBar, share)->trigger();
        QCOMPARE(first->colors()->scale().high, 3.0F);
    }

    void percentilesAndTransformsAreInTheMenu()
    {
        ColorBar bar(Qt::Vertical);
        entry(bar, QStringLiteral("95 %"))->trigger();
        QCOMPARE(bar.scale().fit, ColorFit::Percentiles);
        QCOMPARE(bar.scale().percentile, 95.0F);
        entry(bar, QStringLiteral("Square root"))->trigger();
        QCOMPARE(bar.scale().transform, ColorTransform::Sqrt);
        bar.close();
    }

    void isATableToAScreenReader()
    {
        HeatmapView view;
        view.content()->setRowAxis(
            labelledAxis(QStringLiteral("query"), {QStringLiteral("␣a"), QStringLiteral("␣b")}));
        view.content()->setColumnAxis(labelledAxis(
            QStringLiteral("key"), {QStringLiteral("x"), QStringLiteral("y"), QStringLiteral("z")}));
        const auto matrix = zeroMatrix(2, 3);
        (*matrix)(1, 2) = 0.123456789F;
        showScaled(view, matrix);
        QAccessibleInterface* found = QAccessible::queryAccessibleInterface(&view);
        QVERIFY(found);
        QCOMPARE(found->role(), QAccessible::Table);
        QAccessibleTableInterface* table = found->tableInterface();
        QVERIFY(table);
        QCOMPARE(table->rowCount(), 2);
        QCOMPARE(table->columnCount(), 3);
        QCOMPARE(table->rowDescription(1), QStringLiteral("␣b"));
        QCOMPARE(found->childCount(), 6);
        QAccessibleInterface* cell = table->cellAt(1, 2);
        QVERIFY(cell && cell->isValid());
        QCOMPARE(cell, found->child(5));
        QCOMPARE(found->indexOfChild(cell), 5);
        QCOMPARE(cell->text(QAccessible::Value), QStringLiteral("0.12345679"));
        QCOMPARE(cell->text(QAccessible::Description), QStringLiteral("row ␣b, column z"));
        QAccessibleTableCellInterface* place = cell->tableCellInterface();
        QCOMPARE(place->rowIndex(), 1);
        QCOMPARE(place->columnIndex(), 2);
        QCOMPARE(place->rowHeaderCells().first()->text(QAccessible::Name), QStringLiteral("␣b"));
        QCOMPARE(place->columnHeaderCells().first()->text(QAccessible::Name), QStringLiteral("z"));
        QVERIFY(!place->isSelected());
        QVERIFY(!found->focusChild());
        view.zoom()->setCurrentCell(1, 2);
        QCOMPARE(found->focusChild(), cell);
        QVERIFY(place->isSelected());
        QVERIFY(!table->cellAt(2, 0) && !table->cellAt(0, 3) && !table->cellAt(-1, 0));
        view.setMatrix(zeroMatrix(1, 1)); // A reader may still hold the cell.
        QVERIFY(!cell->isValid());
        QVERIFY(cell->text(QAccessible::Name).isEmpty());
    }

    void aReaderOfManyCellsHoldsAFew()
    {
        HeatmapView view;
        showScaled(view, zeroMatrix(100, 100));
        QAccessibleTableInterface* table = QAccessible::queryAccessibleInterface(&view)->tableInterface();
        for (int i = 0; i < 100 * 100; ++i)
            QCOMPARE(table->cellAt(i / 100, i % 100)->tableCellInterface()->columnIndex(), i % 100);
    }
};

HEADWISE_TEST(HeatmapScaleTest)
#include "heatmap_scale_test.moc"
