#include "ui/heatmaps/heatmap_view.h"

#include "tests/support/painted_texts.h"
#include "tests/support/program.h"

#include "ui/base/theme.h"

#include <QApplication>
#include <QClipboard>
#include <QFile>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <QWheelEvent>

#include <limits>

using namespace headwise;
using namespace headwise::ui;

namespace {

const ColorScale unitScale{.low = -1, .high = 1, .fit = ColorFit::Fixed};
constexpr float notANumber = std::numeric_limits<float>::quiet_NaN();

std::shared_ptr<const Eigen::MatrixXf> twoByThree()
{
    return std::make_shared<Eigen::MatrixXf>((Eigen::MatrixXf(2, 3) << 1, 0, -1, 0.5F, 0, -0.5F).finished());
}

std::shared_ptr<Eigen::MatrixXf> zeros(int rows, int columns)
{
    return std::make_shared<Eigen::MatrixXf>(Eigen::MatrixXf::Zero(rows, columns));
}

void prepare(HeatmapView& view, std::shared_ptr<const Eigen::MatrixXf> matrix)
{
    view.resize(360, 300);
    view.colors()->setScale(unitScale);
    view.setMatrix(std::move(matrix));
    view.show(); // A hidden widget gets no mouse moves, and a test of silence would prove nothing.
    QVERIFY(QTest::qWaitForWindowExposed(&view));
}

// Returns a point just inside the cell's corner, because its centre may show a number.
QPoint insideOf(const HeatmapView& view, int row, int column)
{
    return view.cells().rect(row, column).topLeft().toPoint() + QPoint(4, 4);
}

QPoint centerOf(const HeatmapView& view, int row, int column)
{
    return view.cells().rect(row, column).center().toPoint();
}

void turnWheel(HeatmapView& view, QPoint at, int notches, Qt::KeyboardModifiers modifiers = {})
{
    QWheelEvent event(at, view.mapToGlobal(at), {}, {0, 120 * notches}, Qt::NoButton, modifiers,
                      Qt::NoScrollPhase, false);
    QApplication::sendEvent(&view, &event);
}

} // namespace

class HeatmapViewTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() { applyTheme(*qApp, ThemeMode::Light); }

    void paintsEveryCellInItsColor()
    {
        HeatmapView view;
        const auto matrix = twoByThree();
        prepare(view, matrix);
        const QImage image = view.grab().toImage();
        for (int row = 0; row < 2; ++row)
            for (int column = 0; column < 3; ++column)
                QCOMPARE(image.pixel(insideOf(view, row, column)),
                         colorOf((*matrix)(row, column), unitScale));
    }

    void aDarkWindowGetsTheDarkTwin()
    {
        HeatmapView view;
        view.setPalette(paletteOf(darkColors()));
        prepare(view, twoByThree());
        ColorScale dark = unitScale;
        dark.map = ColorMap::SignedDark;
        QCOMPARE(view.grab().toImage().pixel(insideOf(view, 0, 0)), colorOf(1, dark));
        QCOMPARE(view.colors()->scale().map,
                 ColorMap::Signed); // The saved state does not depend on the theme.
    }

    void changingTheScaleRepaintsTheSameData()
    {
        HeatmapView view;
        prepare(view, twoByThree());
        ColorScale wide = unitScale;
        wide.low = -10;
        wide.high = 10;
        view.colors()->setScale(wide);
        QCOMPARE(view.grab().toImage().pixel(insideOf(view, 0, 0)), colorOf(1, wide));
    }

    void limitsFollowANewMatrixUnlessTheyAreFixed()
    {
        HeatmapView view;
        QSignalSpy changed(view.colors(), &HeatmapColors::scaleChanged);
        view.setMatrix(std::make_shared<Eigen::MatrixXf>(Eigen::MatrixXf::Constant(2, 2, -4)));
        QCOMPARE(view.colors()->scale().high, 4.0F);
        QCOMPARE(changed.count(), 1);
        view.colors()->setScale(unitScale);
        view.setMatrix(std::make_shared<Eigen::MatrixXf>(Eigen::MatrixXf::Constant(2, 2, 9)));
        QCOMPARE(view.colors()->scale().high, 1.0F);
    }

    void theStrongestCellSurvivesDownSampling()
    {
        HeatmapView view;
        const auto matrix = zeros(2000, 3000);
        (*matrix)(777, 1234) = -1;
        (*matrix)(778, 1234) = 0.5F;
        prepare(view, matrix);
        const QImage image = view.grab().toImage();
        const QPointF at = view.cells().rect(777, 1234).center();
        QCOMPARE(image.pixel(static_cast<int>(at.x()), static_cast<int>(at.y())), colorOf(-1, unitScale));
        int blue = 0; // Only this cell, in the one or two pixels per direction that touch it.
        for (int y = 0; y < image.height(); ++y)
            for (int x = 0; x < image.width(); ++x)
                blue += image.pixel(x, y) == colorOf(-1, unitScale) ? 1 : 0;
        QVERIFY2(blue >= 1 && blue <= 4, qPrintable(QString::number(blue)));
    }

    void thePyramidAgreesWithPlainLoops()
    {
        const auto matrix = std::make_shared<Eigen::MatrixXf>(Eigen::MatrixXf::Random(37, 53));
        (*matrix)(5, 7) = notANumber;
        MatrixPyramid pyramid(matrix, Aggregate::Strongest);
        for (int level = 1; level <= 3; ++level) {
            const int side = 1 << level;
            const Eigen::MatrixXf& found = pyramid.level(level);
            QCOMPARE(found.rows(), (37 + side - 1) / side);
            for (Eigen::Index row = 0; row < found.rows(); ++row)
                for (Eigen::Index column = 0; column < found.cols(); ++column) {
                    float expected = 0;
                    for (Eigen::Index r = row * side; r < std::min<Eigen::Index>(37, (row + 1) * side); ++r)
                        for (Eigen::Index c = column * side;
                             c < std::min<Eigen::Index>(53, (column + 1) * side); ++c)
                            if (std::isnan((*matrix)(r, c)))
                                expected = notANumber;
                            else if (std::abs((*matrix)(r, c)) > std::abs(expected))
                                expected = (*matrix)(r, c);
                    QVERIFY(std::isnan(expected) ? std::isnan(found(row, column))
                                                 : found(row, column) == expected);
                }
        }
    }

    void aValueThatIsNotFiniteIsHatchedAndCounted()
    {
        HeatmapView view;
        const auto matrix = std::make_shared<Eigen::MatrixXf>(*twoByThree());
        (*matrix)(0, 1) = notANumber;
        prepare(view, matrix);
        QCOMPARE(view.content()->notFiniteCount(), 1);
        const QImage image = view.grab().toImage();
        const QRect cell = view.cells().rect(0, 1).toRect();
        int lines = 0;
        for (int x = cell.left() + 8; x < cell.left() + 24; ++x)
            lines += image.pixel(x, cell.top() + 8) == lightColors().muted.rgb() ? 1 : 0;
        QCOMPARE(lines, 4); // 2 of every 8 pixels.
    }

    void survivesWhateverMatrixItIsGiven()
    {
        const float infinity = std::numeric_limits<float>::infinity();
        const std::vector<std::shared_ptr<const Eigen::MatrixXf>> matrices{
            nullptr,
            zeros(0, 0),
            zeros(0, 5),
            zeros(1, 1),
            zeros(3, 3),
            std::make_shared<Eigen::MatrixXf>(Eigen::MatrixXf::Constant(4, 4, notANumber)),
            std::make_shared<Eigen::MatrixXf>(Eigen::MatrixXf::Constant(900, 900, infinity)),
            zeros(1, 5000),
            zeros(5000, 1)};
        for (const auto& matrix : matrices)
            for (const QSize size : {QSize(360, 300), QSize(3, 3)}) {
                HeatmapView view;
                view.setMatrix(matrix);
                view.resize(size);
                QCOMPARE(view.grab().size(), size.expandedTo(view.minimumSizeHint()).boundedTo(view.size()));
                turnWheel(view, {1, 1}, 3);
                QTest::keyClick(&view, Qt::Key_Right);
                QTest::keyClick(&view, Qt::Key_Return);
                view.grab();
            }
    }

    void reportsTheCellUnderTheMouse()
    {
        HeatmapView view;
        prepare(view, twoByThree());
        QSignalSpy hovered(&view, &HeatmapView::cellHovered);
        QSignalSpy clicked(&view, &HeatmapView::cellClicked);
        QSignalSpy referenced(&view, &HeatmapView::cellReferenced);
        QTest::mouseMove(&view, centerOf(view, 1, 2));
        QTRY_VERIFY(!hovered.isEmpty());
        QCOMPARE(hovered.last(), (QList<QVariant>{1, 2, -0.5F}));
        QTest::mouseClick(&view, Qt::LeftButton, {}, centerOf(view, 0, 2));
        QCOMPARE(clicked.last(), (QList<QVariant>{0, 2}));
        QCOMPARE(view.zoom()->state().row, 0);
        QCOMPARE(view.zoom()->state().column, 2);
        QTest::mouseClick(&view, Qt::RightButton, {}, centerOf(view, 1, 0));
        QCOMPARE(referenced.count(), 0); // A right click only opens a menu.
        QTest::mouseClick(&view, Qt::LeftButton, Qt::ShiftModifier, centerOf(view, 0, 1));
        QCOMPARE(referenced.count(), 1);
        QCOMPARE(referenced.first(), (QList<QVariant>{0, 1}));
        QCOMPARE(clicked.count(), 1);
    }

    void anEmptyViewIsSilent()
    {
        HeatmapView view;
        prepare(view, nullptr);
        QSignalSpy clicked(&view, &HeatmapView::cellClicked);
        QTest::mouseClick(&view, Qt::LeftButton, {}, {180, 150});
        QCOMPARE(clicked.count(), 0);
        view.setMatrix(twoByThree()); // The positive control: the same click now counts.
        QTest::mouseClick(&view, Qt::LeftButton, {}, {180, 150});
        QCOMPARE(clicked.count(), 1);
    }

    void theWheelZoomsAboutTheCursor()
    {
        HeatmapView view;
        prepare(view, zeros(100, 100));
        const QPoint at = centerOf(view, 25, 60);
        const QPointF before = view.cells().rect(25, 60).center();
        turnWheel(view, at, 4);
        QVERIFY(view.zoom()->state().zoomX > 2.4 && view.zoom()->state().zoomX < 2.5); // 1.25⁴
        const QPointF after = view.cells().rect(25, 60).center();
        const QPointF offset = before - QPointF(at);
        QVERIFY((after - QPointF(at) - offset * view.zoom()->state().zoomX).manhattanLength() < 1e-6);
        turnWheel(view, at, -40);
        QCOMPARE(view.zoom()->state().zoomX, 1.0);
    }

    void controlZoomsColumnsAndShiftRows()
    {
        HeatmapView view;
        prepare(view, zeros(100, 100));
        turnWheel(view, centerOf(view, 50, 50), 1, Qt::ControlModifier);
        QCOMPARE(view.zoom()->state().zoomX, 1.25);
        QCOMPARE(view.zoom()->state().zoomY, 1.0);
        turnWheel(view, centerOf(view, 50, 50), 2, Qt::ShiftModifier);
        QCOMPARE(view.zoom()->state().zoomX, 1.25);
        QCOMPARE(view.zoom()->state().zoomY, 1.5625);
    }

    void draggingPansAndIsNoClick()
    {
        HeatmapView view;
        prepare(view, zeros(100, 100));
        view.zoom()->setState({.zoomX = 4, .zoomY = 4});
        QSignalSpy clicked(&view, &HeatmapView::cellClicked);
        const QRectF before = view.cells().rect(50, 50);
        QTest::mousePress(&view, Qt::LeftButton, {}, {180, 150});
        QTest::mouseMove(&view, {200, 180});
        QTest::mouseMove(&view, {210, 190});
        QTest::mouseRelease(&view, Qt::LeftButton, {}, {210, 190});
        const QPointF moved = view.cells().rect(50, 50).topLeft() - before.topLeft();
        QVERIFY((moved - QPointF(30, 40)).manhattanLength() < 1e-6);
        QCOMPARE(clicked.count(), 0);
    }

    void doubleClickResetsTheZoomAndActivatesAtFullView()
    {
        HeatmapView view;
        prepare(view, zeros(100, 100));
        QSignalSpy activated(&view, &HeatmapView::cellActivated);
        view.zoom()->setState({.zoomX = 4, .zoomY = 2});
        QTest::mouseDClick(&view, Qt::LeftButton, {}, {180, 150});
        QCOMPARE(view.zoom()->state().zoomX, 1.0);
        QCOMPARE(view.zoom()->state().zoomY, 1.0);
        QCOMPARE(activated.count(), 0);
        QTest::mouseDClick(&view, Qt::LeftButton, {}, centerOf(view, 3, 4));
        QCOMPARE(activated.count(), 1);
        QCOMPARE(activated.last(), (QList<QVariant>{3, 4}));
    }

    void keysMoveTheCurrentCellAndKeepItInView()
    {
        HeatmapView view;
        prepare(view, zeros(100, 100));
        view.zoom()->setState({.zoomX = 10, .zoomY = 10, .row = 49, .column = 54});
        QSignalSpy moved(view.zoom(), &HeatmapZoom::currentCellChanged);
        QSignalSpy read(&view, &HeatmapView::cellHovered);
        QTest::keyClick(&view, Qt::Key_Right);
        QTest::keyClick(&view, Qt::Key_Down);
        QCOMPARE(moved.last(), (QList<QVariant>{50, 55}));
        QCOMPARE(read.last(), (QList<QVariant>{50, 55, 0.F})); // as if it were under the mouse
        const QRectF cell = view.cells().rect(50, 55);
        QVERIFY(QRectF(view.rect()).contains(cell));
        QTest::keyClick(&view, Qt::Key_End);
        QCOMPARE(view.zoom()->state().column, 99);
        QSignalSpy clicked(&view, &HeatmapView::cellClicked);
        QSignalSpy activated(&view, &HeatmapView::cellActivated);
        QSignalSpy referenced(&view, &HeatmapView::cellReferenced);
        QTest::keyClick(&view, Qt::Key_Return);
        QCOMPARE(clicked.last(), (QList<QVariant>{50, 99}));
        QCOMPARE(activated.last(), (QList<QVariant>{50, 99}));
        QVERIFY(referenced.isEmpty());
        QTest::keyClick(&view, Qt::Key_Return, Qt::ShiftModifier);
        QCOMPARE(referenced.last(), (QList<QVariant>{50, 99}));
        QCOMPARE(activated.count(), 1);
        QTest::keyClick(&view, Qt::Key_0);
        QCOMPARE(view.zoom()->state().zoomX, 1.0);
        QTest::keyClick(&view, Qt::Key_Plus);
        QCOMPARE(view.zoom()->state().zoomX, 1.5);
        QTest::keyClick(&view, Qt::Key_Minus);
        QCOMPARE(view.zoom()->state().zoomX, 1.0);
    }

    void theCurrentCellIsCopiedInFull()
    {
        HeatmapView view;
        view.content()->setRowAxis(
            labelledAxis(QStringLiteral("token"), {QStringLiteral("␣Paris"), QStringLiteral("␣Rome")}));
        auto matrix = std::make_shared<Eigen::MatrixXf>(*twoByThree());
        (*matrix)(1, 2) = 0.123456789F;
        prepare(view, matrix);
        view.zoom()->setCurrentCell(1, 2);
        QTest::keySequence(&view, QKeySequence::Copy);
        QCOMPARE(QApplication::clipboard()->text(), QStringLiteral("␣Rome\t2\t0.12345679"));
        QVERIFY(view.accessibleDescription().contains(QStringLiteral("␣Rome")));
    }

    void theCurrentCellHasARingOfTheAccent()
    {
        HeatmapView view;
        prepare(view, twoByThree());
        view.zoom()->setCurrentCell(0, 1);
        const QRect cell = view.cells().rect(0, 1).toRect();
        const QImage image = view.grab().toImage();
        QCOMPARE(image.pixel(cell.left(), cell.center().y()), lightColors().accent.rgb());
        QCOMPARE(image.pixel(cell.left() + 2, cell.center().y() + 20), lightColors().base.rgb());
    }

    void anEqualStateIsNoChange()
    {
        HeatmapView view;
        prepare(view, zeros(10, 10));
        QSignalSpy changed(view.zoom(), &HeatmapZoom::stateChanged);
        const HeatmapState state{
            .zoomX = 2, .zoomY = 2, .centerX = 0.5, .centerY = 0.5, .row = 1, .column = 2};
        view.zoom()->setState(state);
        QCOMPARE(changed.count(), 1);
        QVERIFY(view.zoom()->state() == state);
        view.zoom()->setState(state);
        QCOMPARE(changed.count(), 1);
    }

    void theDataIsTheVisibleRegionInFull()
    {
        HeatmapView view;
        view.content()->setRowAxis(
            labelledAxis(QStringLiteral("source"), {QStringLiteral("a"), QStringLiteral("b")}));
        prepare(view, twoByThree());
        QList<QStringList> rows;
        view.forEachDataRow([&rows](const QStringList& row) { rows << row; });
        QCOMPARE(rows.size(), 3);
        QCOMPARE(rows[0].join(u'|'), QStringLiteral("source|0|1|2"));
        QCOMPARE(rows[2].join(u'|'), QStringLiteral("b|0.5|0|-0.5"));
    }

    void aFigureNamesItsRowsWhereNamesCanBeRead()
    {
        QStringList names;
        for (int i = 0; i < 30; ++i)
            names << QStringLiteral("name%1").arg(i);
        HeatmapView view;
        view.content()->setRowAxis(labelledAxis(QStringLiteral("source"), names));
        view.content()->setColumnAxis(labelledAxis(QStringLiteral("output"), names));
        prepare(view, zeros(30, 30));
        QTemporaryDir folder;
        const auto drawn = [&](double millimetres) {
            FigureSettings settings;
            settings.format = FigureFormat::Svg;
            settings.width = millimetres;
            settings.height = millimetres;
            const QString path = folder.filePath(QStringLiteral("figure.svg"));
            if (!exportFigure(view, path, settings))
                return QByteArray();
            QFile file(path);
            return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
        };
        QVERIFY(drawn(160).contains("name17"));
        const QByteArray small = drawn(80); // every second has room
        QVERIFY(small.contains("name16") && !small.contains("name17"));
        const QByteArray tiny = drawn(25);
        QVERIFY(!tiny.isEmpty() && !tiny.contains("name"));
    }

    void absentCellsAreNeitherHatchedNorCounted()
    {
        HeatmapView view;
        auto matrix = std::make_shared<Eigen::MatrixXf>(Eigen::MatrixXf::Zero(2, 2));
        (*matrix)(0, 1) = std::numeric_limits<float>::quiet_NaN();
        view.content()->setNanIsAbsent(true);
        prepare(view, matrix);
        const QRect cell = view.cells().rect(0, 1).toAlignedRect().adjusted(2, 2, -2, -2);
        const QImage image = view.grab().toImage();
        for (int y = cell.top(); y < cell.bottom(); ++y)
            for (int x = cell.left(); x < cell.right(); ++x)
                QCOMPARE(image.pixel(x, y), image.pixel(cell.topLeft()));
    }

    /// Names that are too many to be drawn keep their room, but the titles stand beside the numbers shown instead.
    void titlesStandBesideTheLabelsShown()
    {
        HeatmapView view;
        prepare(view, zeros(2000, 2000));
        const auto name = [](int index) { return QStringLiteral("a long token %1").arg(index); };
        view.content()->setRowAxis({QStringLiteral("source"), name});
        view.content()->setColumnAxis({QStringLiteral("output"), name});
        test::TextCollector page(view.size());
        view.render(&page);
        const QRectF cells = view.cells().area();
        QRectF source, output;
        double left = cells.left(), top = cells.top(); // of the numbers
        for (const test::PaintedText& text : page.texts()) {
            if (text.words == QStringLiteral("source"))
                source = text.ink;
            else if (text.words == QStringLiteral("output"))
                output = text.ink;
            else if (text.ink.right() < cells.left())
                left = std::min(left, text.ink.left());
            else if (text.ink.bottom() < cells.top())
                top = std::min(top, text.ink.top());
        }
        QVERIFY(left < cells.left() && top < cells.top());
        QVERIFY(!source.isEmpty() && source.right() < left && left - source.right() < 16);
        QVERIFY(!output.isEmpty() && output.bottom() < top && top - output.bottom() < 16);
    }

    void labelsStandApartAndInsideThePicture()
    {
        const auto name = [](int index) { return QStringLiteral("name %1").arg(index); };
        for (const bool hasNames : {false, true})
            for (int side = 60; side < 420; side += 3) {
                HeatmapView view;
                prepare(view, hasNames ? zeros(14, 14) : zeros(256, 256));
                if (hasNames)
                    view.content()->setRowAxis({QStringLiteral("source"), name});
                view.resize(side + 60, side);
                test::TextCollector page(view.size());
                view.render(&page);
                const QRectF cells = view.cells().area();
                double end = -100; // of the last label above the map
                for (const test::PaintedText& text : page.texts()) {
                    QVERIFY2(QRectF(view.rect()).adjusted(-1, -1, 1, 1).contains(text.ink),
                             qPrintable(QStringLiteral("%1 at %2").arg(text.words).arg(side)));
                    if (text.ink.bottom() > cells.top() || text.ink.right() < cells.left())
                        continue;
                    QVERIFY2(text.ink.left() > end + 2,
                             qPrintable(QStringLiteral("%1 at %2").arg(text.words).arg(side)));
                    end = text.ink.right();
                }
            }
    }

    /// A title that is longer than its side has the room beside the labels of the other side, too.
    void titlesOfSmallMapsAreWhole()
    {
        HeatmapView view;
        prepare(view, zeros(4, 4));
        const auto name = [](int index) { return QStringLiteral("a head %1").arg(index); };
        const QStringList titles{QStringLiteral("earlier head, which writes"),
                                 QStringLiteral("later head, which reads")};
        view.content()->setRowAxis({titles[0], name});
        view.content()->setColumnAxis({titles[1], name});
        view.resize(200, 200);
        const QRectF cells = view.cells().area();
        test::TextCollector page(view.size());
        view.render(&page);
        int found = 0;
        for (const test::PaintedText& text : page.texts()) {
            if (!titles.contains(text.words))
                continue;
            ++found;
            QVERIFY(std::max(text.ink.width(), text.ink.height()) > std::min(cells.width(), cells.height()));
            QVERIFY(QRectF(view.rect()).contains(text.ink));
            for (const test::PaintedText& other : page.texts())
                QVERIFY2(&other == &text || !other.ink.intersects(text.ink), qPrintable(other.words));
        }
        QCOMPARE(found, 2);
    }
};

HEADWISE_TEST(HeatmapViewTest)
#include "heatmap_view_test.moc"
