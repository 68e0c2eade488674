#include "tests/support/analysis_results.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"
#include "tests/support/toy_model.h"
#include "ui/base/color_choice.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/charts/small_multiples.h"
#include "ui/charts/spectrum_chart.h"
#include "ui/document/workspace_state.h"
#include "ui/heatmaps/heatmap_view.h"
#include "ui/widgets/table_figure.h"

#include <QComboBox>
#include <QScrollArea>
#include <QScrollBar>
#include <QTemporaryDir>

#include <algorithm>
#include <cmath>

using namespace headwise;
using namespace headwise::test;
using namespace headwise::ui;

/// Pictures of all heads at once: one row each, boxes by layer, one row per pair.
class HeadPicturesTest : public QObject {
    Q_OBJECT

private:
    using Opened = OpenedResults;

    /// In the box over a chart.
    static void choose(QWidget* chart, int how)
    {
        auto* box = chart->parentWidget()->findChild<QComboBox*>();
        QVERIFY(box && box->isVisibleTo(chart->parentWidget()) && how < box->count());
        box->setCurrentIndex(how);
    }

private slots:
    void bandsHaveARowForEveryHeadThatSelectsIt()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        run(opened, "bands");
        const ArrayPart shares = numbers(opened, "analyses/bands/ov_write");
        auto* map = opened.find<HeatmapView>(QStringLiteral("Where OV writes, by band of W_U"));
        QTRY_VERIFY(map->matrix());
        QCOMPARE(map->matrix()->rows(), 16);
        QCOMPARE(static_cast<std::size_t>(map->matrix()->size()), shares.size());
        for (Eigen::Index row = 0; row < 16; ++row)
            for (Eigen::Index band = 0; band < map->matrix()->cols(); ++band)
                QCOMPARE((*map->matrix())(row, band),
                         static_cast<float>(
                             shares.at(static_cast<std::size_t>(row * map->matrix()->cols() + band))));
        QVERIFY(std::abs(map->matrix()->row(9).sum() - 1) < 1e-5F);
        QTest::mouseClick(map, Qt::LeftButton, {}, map->cells().rect(13, 0).center().toPoint());
        QCOMPARE(opened.workspace.selection()->head(), (HeadId{1, 5}));
        QCOMPARE(map->zoom()->state().row, 13);
    }

    void theSelectedHeadIsAmongTheLinesOfAWideLayer()
    {
        const QTemporaryDir folder;
        ToyOptions wide;
        wide.nHeads = 40;
        Opened opened(writeToyModel(folder.path().toStdString(), wide).folder);
        run(opened, "spectrum_shapes");
        auto* chart = opened.find<LineChart>(QStringLiteral("Spectra of OV, every head of the layer"));
        for (const int head : {0, 21, 38, 39}) {
            opened.workspace.selection()->setHead({1, head});
            const auto isDrawn = [&] {
                return std::ranges::any_of(chart->series(), [&](const ChartSeries& line) {
                    return line.name == ui::text(HeadId{1, head}) && line.points.size() == 5;
                });
            };
            opened.page.figures();
            QVERIFY(isDrawn());
            QCOMPARE(chart->series().size(), std::size_t{16});
        }
    }

    /// The room of the page in a window of 1,024 × 640.
    void picturesOfSpectraNeedNoScrollingSideways()
    {
        Opened opened(HEADWISE_DEMO_MODEL, {600, 640});
        run(opened, "spectra");
        for (const QScrollArea* area : opened.page.findChildren<QScrollArea*>())
            QTRY_COMPARE(area->horizontalScrollBar()->maximum(), 0);
    }

    /// Shares of the largest value are never negative: zero is the end of their scale, not its middle.
    void sharesHaveAScaleFromZero()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        run(opened, "spectrum_shapes");
        auto* map = opened.find<HeatmapView>(QStringLiteral("σ / σ₁ of OV, mean of a layer's heads"));
        QTRY_VERIFY(map->matrix());
        const ColorScale& scale = map->colors()->scale();
        QVERIFY(!isSigned(scale.map));
        QCOMPARE(scale.low, 0.0F);
        QCOMPARE(scale.high, 1.0F);
    }

    /// CKA has another order than the cosines.
    void pairsStandInTheOrderOfTheirOwnClusters()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        run(opened, "similarity");
        auto* map = opened.find<HeatmapView>(QStringLiteral("CKA of outputs"));
        QTRY_VERIFY(map->matrix());
        QComboBox* order = nullptr;
        for (QWidget* body = map->parentWidget(); body && !order; body = body->parentWidget())
            order = body->findChild<QComboBox*>(QStringLiteral("orderOfHeads"));
        QVERIFY(order && order->isVisibleTo(order->parentWidget()));
        const Eigen::MatrixXf before = *map->matrix();
        QCOMPARE(before.rows(), 16);
        order->setCurrentIndex(1);
        const ArrayPart leaves = numbers(opened, "analyses/similarity/cka_ov_leaves");
        QCOMPARE(leaves.size(), std::size_t{16});
        int moved = 0;
        for (int row = 0; row < 16; ++row)
            for (int column = 0; column < 16; ++column) {
                const auto from = static_cast<Eigen::Index>(leaves.at(static_cast<std::size_t>(row)));
                const auto to = static_cast<Eigen::Index>(leaves.at(static_cast<std::size_t>(column)));
                QCOMPARE((*map->matrix())(row, column), before(from, to));
                moved += from != row || to != column;
            }
        QVERIFY(moved > 0);
        QTest::mouseClick(map, Qt::LeftButton, {}, map->cells().rect(2, 13).center().toPoint());
        const auto head = [&](std::size_t place) {
            const int flat = static_cast<int>(leaves.at(place));
            return HeadId{flat / 8, flat % 8};
        };
        QCOMPARE(opened.workspace.selection()->reference().value(), head(2));
        QCOMPARE(opened.workspace.selection()->head(), head(13));
        QCOMPARE(map->zoom()->state().row, 2);
        QCOMPARE(map->zoom()->state().column, 13);
        order->setCurrentIndex(0);
        QVERIFY(*map->matrix() == before);
        QCOMPARE(map->zoom()->state().column, static_cast<int>(leaves.at(13)));
    }

    void symmetryHasABoxOfQuartilesPerLayer()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        run(opened, "symmetry");
        auto* chart = opened.find<LineChart>(QStringLiteral("Heads by symmetry"));
        choose(chart, 1);
        QCOMPARE(chart->series().size(), std::size_t{1});
        const ArrayPart scores = numbers(opened, "analyses/symmetry/symmetry");
        for (std::size_t layer = 0; layer < 2; ++layer) {
            std::vector<double> sorted;
            for (std::size_t head = 0; head < 8; ++head)
                sorted.push_back(scores.at(layer * 8 + head));
            std::ranges::sort(sorted);
            const std::vector<double> expected{sorted[0], 0.25 * sorted[1] + 0.75 * sorted[2],
                                               (sorted[3] + sorted[4]) / 2,
                                               0.75 * sorted[5] + 0.25 * sorted[6], sorted[7]};
            for (std::size_t i = 0; i < expected.size(); ++i) {
                const QPointF point = chart->series()[0].points[static_cast<qsizetype>(layer * 5 + i)];
                QVERIFY(std::abs(point.y() - expected[i]) < 1e-12);
                QCOMPARE(point.x(), static_cast<double>(layer));
            }
        }
        QCOMPARE(chart->series()[0].points.size(), 10);
        // Something is painted between the quartiles of the first box.
        const QImage seen = chart->grab().toImage();
        const QPointF low = chart->positionOf(chart->series()[0].points[1]);
        const QPointF high = chart->positionOf(chart->series()[0].points[3]);
        const QPoint inside = ((low + high) / 2 + QPointF(4, 0)).toPoint();
        QVERIFY(seen.pixel(inside) != seen.pixel(inside + QPoint(40, 0)));
    }

    void spectraOfEveryHeadStandSideBySide()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        run(opened, "spectra");
        opened.workspace.selection()->setHead({1, 2});
        const QString title = QStringLiteral("Singular values of QK and OV, selected head");
        auto* chart = opened.find<LineChart>(title);
        choose(chart, 1);
        auto* tiles = opened.find<SmallMultiples>(title + QStringLiteral(", head by head"));
        QVERIFY(tiles->isVisibleTo(tiles->parentWidget()) && !chart->isVisibleTo(chart->parentWidget()));
        QCOMPARE(tiles->curves().size(), std::size_t{8});
        choose(chart, 2);
        QCOMPARE(tiles->curves().size(), std::size_t{16});
        const ArrayPart sigma = numbers(opened, "spectra/ov/singular_values");
        double largest = 0;
        for (std::size_t head = 0; head < 16; ++head) {
            const ChartSeries& ov = tiles->curves()[head].series[1];
            const std::size_t width = sigma.shape[2];
            QCOMPARE(ov.points.size(), static_cast<qsizetype>(width));
            for (std::size_t k = 0; k < width; ++k)
                QCOMPARE(ov.points[static_cast<qsizetype>(k)].y(), sigma.at(head * width + k));
            for (const ChartSeries& series : tiles->curves()[head].series)
                for (const QPointF& point : series.points)
                    largest = std::max(largest, point.y());
        }
        QCOMPARE(tiles->range().bottom(), largest); // one pair of axes for all
        QTest::mouseClick(tiles, Qt::LeftButton, {}, tiles->tileRect({0, 6}).center().toPoint());
        QCOMPARE(opened.workspace.selection()->head(), (HeadId{0, 6}));
        tiles->setFocus();
        opened.page.figures(); // at the head that is selected now
        QTest::keyClick(tiles, Qt::Key_Down);
        QCOMPARE(opened.workspace.selection()->head(), (HeadId{1, 6}));
        QVERIFY(opened.page.figures().contains(tiles));
        QVERIFY(dataRows(tiles).size() > 16 * 2 * sigma.shape[2]);
    }

    /// T^ee of every head of layer 0, the only layer that has it, on one scale.
    void matricesOfEveryHeadStandSideBySide()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        run(opened, "six_terms");
        opened.workspace.selection()->setHead({0, 2});
        const QString title = QStringLiteral("Token to token");
        auto* one = opened.find<HeatmapView>(QStringLiteral("T^ee"));
        QComboBox* how = nullptr;
        QWidget* body = one->parentWidget();
        for (; body && !how; body = body->parentWidget())
            how = body->findChild<QComboBox*>(QStringLiteral("howHeadsAreDrawn"));
        QVERIFY(how && how->isVisibleTo(how->parentWidget()));
        how->setCurrentIndex(1);
        auto* tiles = opened.find<SmallMultiples>(title + QStringLiteral(", head by head"));
        QVERIFY(tiles->isVisibleTo(tiles->parentWidget()) && !one->isVisibleTo(tiles->parentWidget()));
        const ArrayPart ee = numbers(opened, "analyses/six_terms/ee");
        const std::size_t side = ee.shape[2];
        QVERIFY(side > 10); // tokens of the prompt that the page suggests
        QCOMPARE(tiles->cells().size(), std::size_t{8});
        float largest = 0;
        for (std::size_t head = 0; head < 8; ++head)
            for (std::size_t i = 0; i < side; ++i)
                for (std::size_t j = 0; j < side; ++j) {
                    const auto value = static_cast<float>(ee.at((head * side + i) * side + j));
                    QCOMPARE(tiles->cells()[head](static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)),
                             value);
                    largest = std::max(largest, std::abs(value));
                }
        QCOMPARE(tiles->scale().high, largest);
        QCOMPARE(tiles->scale().low, -largest);
        QVERIFY(isSigned(tiles->scale().map));
        how->setCurrentIndex(2);
        QCOMPARE(tiles->cells().size(), std::size_t{8}); // layer 1 has none
        QCOMPARE(dataRows(tiles).size(), 1 + 8 * side * side);
        QTest::mouseClick(tiles, Qt::LeftButton, {}, tiles->tileRect({0, 6}).center().toPoint());
        QCOMPARE(opened.workspace.selection()->head(), (HeadId{0, 6}));
        QVERIFY(opened.page.figures().contains(tiles));
    }

    /// A pixel in each quarter of a tile has the colour of its cell.
    void cellsOfATileHaveTheColoursOfTheScale()
    {
        SmallMultiples tiles;
        Eigen::MatrixXf cells(2, 2);
        cells << -1, 0.5F, 0.25F, 1;
        const ColorScale scale = fitted({.map = ColorMap::Signed}, cells);
        tiles.setCells(scale, {QStringLiteral("query"), QStringLiteral("key")}, {{{0, 3}, cells}}, 1);
        tiles.setCurrent({1, 0});
        tiles.setPalette(paletteOf(lightColors()));
        tiles.resize(240, 240);
        const QImage seen = tiles.grab().toImage().scaled(240, 240);
        const QRectF tile = tiles.tileRect({0, 3});
        // The picture is square and in the middle below the name.
        const double top = tile.top() + QFontMetricsF(secondaryFont()).height();
        const QRectF plot(QPointF(tile.left() + 2, top), tile.bottomRight() - QPointF(2, 2));
        const double reach = std::min(plot.width(), plot.height()) / 4;
        const auto at = [&](double x, double y) {
            return seen.pixel((plot.center() + QPointF(x * reach, y * reach)).toPoint());
        };
        QCOMPARE(at(-1, -1), colorOf(-1, scale));
        QCOMPARE(at(1, -1), colorOf(0.5F, scale));
        QCOMPARE(at(-1, 1), colorOf(0.25F, scale));
        QCOMPARE(at(1, 1), colorOf(1, scale));
    }

    void theLargestThreePercentAreMarkedInTheScatter()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        run(opened, "projection_kernel");
        auto* chart = opened.find<LineChart>(QStringLiteral("O to K, composition and kernel"));
        const QVector<QPointF>& pairs = chart->series()[0].points;
        QCOMPARE(pairs.size(), 64);
        QCOMPARE(chart->baselines().size(), std::size_t{1});
        QCOMPARE(chart->series().size(), std::size_t{2});
        const double y = chart->baselines()[0].y, x = chart->series()[1].points[0].x();
        QCOMPARE(std::ranges::count_if(pairs, [&](const QPointF& pair) { return pair.y() >= y; }),
                 2); // of 64
        QCOMPARE(std::ranges::count_if(pairs, [&](const QPointF& pair) { return pair.x() >= x; }), 2);
    }

    void axesAndColoursAreChosenFromAllScores()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        run(opened, "head_map");
        auto* map = opened.find<LineChart>(QStringLiteral("Map of the heads"));
        const auto box = [](QWidget* chart, const char* name) -> QComboBox* {
            for (auto* one : chart->parentWidget()->findChildren<QComboBox*>())
                if (one->accessibleName() == QLatin1String(name))
                    return one;
            return nullptr;
        };
        const std::vector<float> byLayer = map->series()[0].shades;
        QCOMPARE(byLayer[3], 0.F);
        QCOMPARE(byLayer[12], 1.F);
        const auto shades = [](const ArrayPart& values) {
            double low = values.at(0), high = low;
            for (std::size_t i = 0; i < 16; ++i) {
                low = std::min(low, values.at(i));
                high = std::max(high, values.at(i));
            }
            std::vector<float> all;
            for (std::size_t i = 0; i < 16; ++i)
                all.push_back(static_cast<float>((values.at(i) - low) / (high - low)));
            return all;
        };
        QComboBox* color = box(map, "Colour");
        color->setCurrentIndex(color->findData(QStringLiteral("analyses/head_map/ward_cluster")));
        QCOMPARE(map->series()[0].shades, shades(numbers(opened, "analyses/head_map/ward_cluster")));
        run(opened, "spectra");
        auto* plane = opened.find<LineChart>(QStringLiteral("Effective ranks of QK and OV"));
        QComboBox* x = box(plane, "x axis");
        QVERIFY(box(plane, "y axis") && box(plane, "Colour"));
        x->setCurrentIndex(x->findData(QStringLiteral("scores/copying")));
        const ArrayPart copying = numbers(opened, "scores/copying");
        const ArrayPart rank = numbers(opened, "spectra/ov/effective_rank");
        for (std::size_t head = 0; head < 16; ++head)
            QCOMPARE(plane->series()[0].points[static_cast<qsizetype>(head)],
                     QPointF(copying.at(head), rank.at(head)));
        QVERIFY(plane->look().xTitle.contains(metricTitle(*copying.array)));
        x->setCurrentIndex(0); // its own again
        QCOMPARE(plane->series()[0].points[5].x(), numbers(opened, "spectra/qk/effective_rank").at(5));
    }

    /// Grids of one picture with the same quantity share a scale that starts at zero.
    void gridsToBeComparedHaveOneScale()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        run(opened, "norms");
        float largest = 0;
        std::vector<HeatmapView*> grids;
        for (const char* name : {"qk_spectral", "ov_spectral"}) {
            const ResultArray& array =
                *opened.workspace.model()->results()->find(std::string("analyses/norms/") + name);
            grids.push_back(opened.find<HeatmapView>(metricTitle(array)));
            QTRY_VERIFY(grids.back()->matrix());
            largest = std::max(largest, grids.back()->matrix()->maxCoeff());
        }
        for (const HeatmapView* grid : grids) {
            QCOMPARE(grid->colors()->scale().low, 0.F);
            QCOMPARE(grid->colors()->scale().high, largest);
            QVERIFY(!isSigned(grid->colors()->scale().map));
        }
        QVERIFY(grids[0]->matrix()->maxCoeff() != grids[1]->matrix()->maxCoeff());
    }

    void theCompositionOfAllPairsIsAPicture()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        run(opened, "composition");
        auto* table = opened.find<TableFigure>(QStringLiteral("All pairs, V-composition"));
        QCOMPARE(table->model()->rowCount(), 64);
        const ArrayPart all = numbers(opened, "composition/v");
        double largest = 0;
        for (std::size_t i = 0; i < all.size(); ++i)
            largest = std::fmax(largest, all.at(i));
        QCOMPARE(dataRows(table)[1][2].toDouble(), largest);
    }
};

HEADWISE_TEST(HeadPicturesTest)
#include "head_pictures_test.moc"
