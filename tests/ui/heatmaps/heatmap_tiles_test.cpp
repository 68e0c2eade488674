#include "tests/support/program.h"

// A heatmap of a circuit too large to form, from tiles loaded when they become visible.

#include "ui/base/theme.h"
#include "ui/heatmaps/heatmap_view.h"

#include <QApplication>
#include <QFile>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>

#include <cmath>
#include <numeric>

using namespace headwise;
using namespace headwise::ui;

namespace {

FactoredMatrix<float> factors(Eigen::Index rows, Eigen::Index cols)
{
    std::srand(3);
    Matrix<float> left = Matrix<float>::Random(rows, 4);
    left.row(rows / 2) *= 6; // One strong row.
    return *FactoredMatrix<float>::create(std::move(left), Matrix<float>::Random(4, cols));
}

constexpr int rowCount = 9001; // Overview level 4: 563 × 689.
constexpr int columnCount = 11011;

const std::shared_ptr<const TiledCircuit>& circuit()
{
    static const auto made = *TiledCircuit::create(factors(rowCount, columnCount), Task{});
    return made;
}

void showTiled(HeatmapView& view)
{
    view.resize(560, 460);
    view.show();
    QVERIFY(QTest::qWaitForWindowExposed(&view));
    view.content()->setTiles(circuit());
}

float strongestOf(const Matrix<float>& cells)
{
    Eigen::Index row = 0, column = 0;
    cells.cwiseAbs().maxCoeff(&row, &column);
    return cells(row, column);
}

/// Returns the cells of the pixel at `at`: the block of its level under its centre.
Matrix<float> cellsUnder(const HeatmapView& view, QPoint at, int level)
{
    const QRectF origin = view.cells().rect(0, 0);
    const int row = static_cast<int>((at.y() + 0.5 - origin.top()) / origin.height()) >> level;
    const int column = static_cast<int>((at.x() + 0.5 - origin.left()) / origin.width()) >> level;
    const int side = 1 << level;
    std::vector<int> rows, columns;
    for (int i = row * side; i < std::min(rowCount, (row + 1) * side); ++i)
        rows.push_back(i);
    for (int i = column * side; i < std::min(columnCount, (column + 1) * side); ++i)
        columns.push_back(i);
    return factors(rowCount, columnCount).at(rows, columns);
}

bool isSettled(HeatmapView& view)
{
    return !view.note().text().contains(QStringLiteral("estimated"))
        && !view.content()->tileLoader()->scan()->isRunning();
}

} // namespace

class HeatmapTilesTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() { applyTheme(*qApp, ThemeMode::Light); }

    void theWholeIsThereAtOnceAndBecomesExact()
    {
        HeatmapView view;
        showTiled(view);
        const ColorScale fixed{.low = -3, .high = 3, .fit = ColorFit::Fixed};
        view.colors()->setScale(fixed);
        (void)view.grab();
        QVERIFY2(view.note().text().contains(QStringLiteral("each pixel: strongest of 32 × 32, estimated")),
                 qPrintable(view.note().text()));
        QTRY_VERIFY(isSettled(view));
        QVERIFY(view.content()->tileLoader()->isOverviewExact());
        QVERIFY(view.note().text().startsWith(QStringLiteral("each pixel: strongest of 32 × 32")));
        const QImage image = view.grab().toImage();
        int negative = 0;
        for (int i = 0; i < 20; ++i) {
            const QPoint at(100 + 20 * i, 100 + 15 * i);
            const float expected = strongestOf(cellsUnder(view, at, 5));
            QVERIFY(std::abs(expected) < 3); // Else the limits would hide a wrong one.
            QCOMPARE(image.pixel(at), colorOf(expected, fixed));
            negative += expected < 0 ? 1 : 0;
        }
        QVERIFY(negative > 2 && negative < 18);
    }

    void theMeanIsTheMeanOfAllCellsUnderThePixel()
    {
        HeatmapView view;
        showTiled(view);
        view.content()->setAggregate(Aggregate::Mean);
        const ColorScale fixed{.low = -0.05F, .high = 0.05F, .fit = ColorFit::Fixed};
        view.colors()->setScale(fixed);
        const QImage image = view.grab().toImage();
        QVERIFY(view.note().text().startsWith(QStringLiteral("each pixel: mean of 32 × 32")));
        for (const QPoint at : {QPoint(150, 150), QPoint(300, 200), QPoint(400, 330)}) {
            const float mean = static_cast<float>(cellsUnder(view, at, 5).cast<double>().mean());
            // Rounding may change the colour by one of 256 steps.
            const QRgb found = image.pixel(at);
            const float step = 0.1F / 256 / 20;
            QVERIFY(found == colorOf(mean - step, fixed) || found == colorOf(mean + step, fixed));
        }
    }

    void zoomedInTilesArriveAndAreExact()
    {
        HeatmapView view;
        showTiled(view);
        const ColorScale fixed{.low = -10, .high = 10, .fit = ColorFit::Fixed};
        view.colors()->setScale(fixed);
        QSignalSpy arrived(view.content()->tileLoader(), &TileLoader::arrived);
        view.zoom()->setState({.zoomX = 3.5, .zoomY = 3.5, .centerX = 0.4, .centerY = 0.5});
        (void)view.grab();
        QVERIFY(view.note().text().startsWith(QStringLiteral("each pixel: strongest of 8 × 8")));
        const auto right = [&](QPoint at) {
            return view.grab().toImage().pixel(at) == colorOf(strongestOf(cellsUnder(view, at, 3)), fixed);
        };
        for (const QPoint at : {QPoint(120, 120), QPoint(300, 250), QPoint(500, 400)})
            QTRY_VERIFY(right(at));
        QVERIFY(!arrived.isEmpty());
    }

    void singleCellsAreReadExactlyAndPrinted()
    {
        HeatmapView view;
        showTiled(view);
        view.zoom()->setState(
            {.zoomX = columnCount / 6.0, .zoomY = rowCount / 6.0, .row = 4500, .column = 5505});
        QTRY_VERIFY(view.cells().rect(4500, 5505).width() >= 40);
        (void)view.grab();
        QVERIFY(!view.note().text().contains(QStringLiteral("each pixel")));
        QSignalSpy hovered(&view, &HeatmapView::cellHovered);
        QTest::mouseMove(&view, view.cells().rect(4500, 5505).center().toPoint());
        QTRY_VERIFY(!hovered.isEmpty());
        const double expected = double{factors(rowCount, columnCount).at(4500, 5505)};
        QCOMPARE(hovered.last().at(0).toInt(), 4500);
        QCOMPARE(hovered.last().at(1).toInt(), 5505);
        QVERIFY(std::abs(hovered.last().at(2).toDouble() - expected) < 1e-5 * std::abs(expected));
    }

    void limitsFollowWhatIsShownUnlessTheyAreLocked()
    {
        HeatmapView view;
        showTiled(view);
        view.colors()->setScale({.fit = ColorFit::Robust});
        (void)view.grab();
        const float whole = view.colors()->scale().high;
        view.content()->setAggregate(Aggregate::Mean);
        QVERIFY(view.colors()->scale().high < whole / 4); // Means of 32 × 32 cells are small.
        view.content()->setAggregate(Aggregate::Strongest);
        QCOMPARE(view.colors()->scale().high, whole);
        QTest::keyClick(&view, Qt::Key_L);
        QCOMPARE(view.colors()->scale().fit, ColorFit::Fixed);
        view.zoom()->setState({.zoomX = 30, .zoomY = 30});
        QCOMPARE(view.colors()->scale().high, whole);
        QTest::keyClick(&view, Qt::Key_L);
        QCOMPARE(view.colors()->scale().fit, ColorFit::Robust);
        QVERIFY(view.colors()->scale().high < whole);
    }

    void limitsFollowTheSizeOfTheWindow()
    {
        HeatmapView view;
        showTiled(view);
        view.colors()->setScale({.fit = ColorFit::Robust});
        (void)view.grab();
        const float before = view.colors()->scale().high;
        view.resize(300, 250);
        (void)view.grab();
        QVERIFY2(view.note().text().contains(QStringLiteral("64 × 64")), qPrintable(view.note().text()));
        QVERIFY(view.colors()->scale().high > 1.05F * before);
        const ValueStatistics shown = view.content()->tileLoader()->statistics(Aggregate::Strongest, 6);
        QCOMPARE(view.colors()->scale().high, fitted(view.colors()->scale(), shown).high);
    }

    void aCancelledScanStopsAndSaysSo()
    {
        HeatmapView view;
        showTiled(view);
        QSignalSpy started(view.content()->tileLoader()->scan(), &Job::started);
        (void)view.grab();
        QCOMPARE(started.count(), 1);
        view.content()->tileLoader()->scan()->cancel();
        QVERIFY(waitForJobs(std::chrono::seconds(20)));
        QCoreApplication::processEvents(); // A late answer would be in the queue by now.
        (void)view.grab();
        QVERIFY(!view.content()->tileLoader()->scan()->isRunning());
        QVERIFY(view.note().text().contains(QStringLiteral("estimated; exact in ")));
        view.content()->setTiles(circuit()); // The positive control: a new circuit is scanned again.
        QTRY_VERIFY(isSettled(view));
    }

    void anotherCircuitTakesThePlaceOfOneThatIsBeingScanned()
    {
        HeatmapView view;
        showTiled(view);
        (void)view.grab();
        view.content()->setTiles(*TiledCircuit::create(factors(5000, 5000), Task{}));
        (void)view.grab();
        QTRY_VERIFY(isSettled(view));
        view.setMatrix(std::make_shared<Eigen::MatrixXf>(Eigen::MatrixXf::Ones(3, 3)));
        QVERIFY(!view.scene().tiles);
        view.content()->setTiles(nullptr);
        QVERIFY(view.isEmpty());
        (void)view.grab();
    }

    void aFigureSaysWhatItsPixelsStandFor()
    {
        HeatmapView view;
        showTiled(view);
        view.content()->setNormBars(true);
        (void)view.grab();
        QTRY_VERIFY(isSettled(view));
        QTemporaryDir folder;
        FigureSettings settings;
        settings.format = FigureFormat::Svg;
        const QString path = folder.filePath(QStringLiteral("whole.svg"));
        QVERIFY(exportFigure(view, path, settings));
        QFile file(path);
        QVERIFY(file.open(QIODevice::ReadOnly));
        const QByteArray svg = file.readAll();
        QVERIFY(svg.contains("each pixel: strongest of 32"));
        QVERIFY(svg.contains("image-rendering"));
    }

    void theDataOfThePictureIsWhatItsPixelsShow()
    {
        HeatmapView view;
        showTiled(view);
        (void)view.grab();
        QTRY_VERIFY(isSettled(view));
        QList<QStringList> rows;
        view.forEachDataRow([&rows](const QStringList& row) { rows << row; });
        QCOMPARE(rows.size(), 1 + (rowCount + 31) / 32);
        QCOMPARE(rows[0].at(2), QStringLiteral("32–63"));
        std::vector<int> some(32);
        std::iota(some.begin(), some.end(), 0);
        const float expected = strongestOf(factors(rowCount, columnCount).at(some, some));
        QVERIFY(std::abs(rows[1].at(1).toFloat() - expected) < 1e-5F * std::abs(expected));
    }
};

HEADWISE_TEST(HeatmapTilesTest)
#include "heatmap_tiles_test.moc"
