#include "core/results/tiled_circuit.h"

#include "tests/support/matchers.h"
#include "tests/support/program.h"

#include <QTest>

#include <cmath>
#include <limits>

using namespace headwise;
using Eigen::Index;

namespace {

// No power of two in either direction, so that the last entry of every level covers fewer cells.
FactoredMatrix<float> factors(Index rows, Index cols, float outlier = 20)
{
    std::srand(7);
    Matrix<float> left = Matrix<float>::Random(rows, 5);
    left.row(rows / 3) *= outlier;
    return *FactoredMatrix<float>::create(std::move(left), Matrix<float>::Random(5, cols));
}

std::shared_ptr<const TiledCircuit> tiled(Index rows, Index cols)
{
    return *TiledCircuit::create(factors(rows, cols), Task{});
}

/// By plain loops over the product.
Matrix<float> expected(const Matrix<float>& cells, Aggregate aggregate, const TileArea& area)
{
    const Index side = Index{1} << area.level;
    Matrix<float> found(area.rows, area.cols);
    for (Index i = 0; i < area.rows; ++i) {
        for (Index j = 0; j < area.cols; ++j) {
            double sum = 0, count = 0;
            float strongest = 0;
            for (Index r = (area.row + i) * side; r < std::min((area.row + i + 1) * side, cells.rows()); ++r)
                for (Index c = (area.col + j) * side; c < std::min((area.col + j + 1) * side, cells.cols());
                     ++c) {
                    sum += double{cells(r, c)};
                    count += 1;
                    if (std::abs(cells(r, c)) > std::abs(strongest))
                        strongest = cells(r, c);
                }
            found(i, j) = aggregate == Aggregate::Mean ? static_cast<float>(sum / count) : strongest;
        }
    }
    return found;
}

// Sums in another order.
constexpr double tolerance = 1e-5;

} // namespace

class TiledCircuitTest : public QObject {
    Q_OBJECT

private slots:
    void everyLevelAgreesWithPlainLoopsOverTheProduct()
    {
        const auto circuit = tiled(700, 1301);
        const Matrix<float> cells = factors(700, 1301).dense();
        for (int level = 0; level < circuit->levelCount(); ++level)
            for (const Aggregate aggregate : {Aggregate::Strongest, Aggregate::Mean}) {
                const TileArea whole = circuit->wholeLevel(level);
                QVERIFY(test::isClose(*circuit->entries(aggregate, whole, Task{}),
                                      expected(cells, aggregate, whole), tolerance));
            }
        QCOMPARE(circuit->wholeLevel(circuit->levelCount() - 1).rows, Index{1});
        QCOMPARE(circuit->wholeLevel(circuit->levelCount() - 1).cols, Index{1});
        QCOMPARE(circuit->overviewLevel(), 1);
    }

    void aTileIsAPartOfItsLevel()
    {
        const auto circuit = tiled(700, 1301);
        const Matrix<float> cells = factors(700, 1301).dense();
        const TileArea atTheEdge{3, 60, 100, 28, 63};
        for (const Aggregate aggregate : {Aggregate::Strongest, Aggregate::Mean})
            QVERIFY(test::isClose(*circuit->entries(aggregate, atTheEdge, Task{}),
                                  expected(cells, aggregate, atTheEdge), tolerance));
    }

    void theEstimateIsNeverStrongerAndIsExactUpToFour()
    {
        const auto circuit = tiled(700, 1301);
        for (int level = 0; level < circuit->levelCount(); ++level) {
            const TileArea whole = circuit->wholeLevel(level);
            const Matrix<float> exact = *circuit->entries(Aggregate::Strongest, whole, Task{});
            const Matrix<float> estimate = circuit->strongestEstimate(whole);
            if (TiledCircuit::isEstimateExact(level))
                QVERIFY(test::isClose(estimate, exact, tolerance));
            // Allows a part in a hundred thousand for the order of the sums.
            QVERIFY(((1 + 1e-5F) * exact.cwiseAbs() - estimate.cwiseAbs()).minCoeff() >= 0);
            // And not far: the longest row of each block is in it.
            QVERIFY(estimate.cwiseAbs().sum() > 0.6F * exact.cwiseAbs().sum());
        }
        QVERIFY(!TiledCircuit::isEstimateExact(3));
    }

    void normsAndSumsAreThoseOfTheProduct()
    {
        const auto circuit = tiled(700, 1301);
        const Matrix<float> cells = factors(700, 1301).dense();
        QVERIFY(test::isClose(circuit->rowNorms(), cells.rowwise().norm(), tolerance));
        QVERIFY(test::isClose(circuit->colNorms(), cells.colwise().norm().transpose(), tolerance));
        const ValueStatistics& found = circuit->statistics(Aggregate::Strongest, 0);
        const ValueStatistics wanted = statisticsOf(cells);
        QCOMPARE(found.count, wanted.count);
        QVERIFY(std::abs(found.squares / wanted.squares - 1) < 1e-5);
        QVERIFY(std::abs(found.sum - wanted.sum) < 1e-5 * std::sqrt(wanted.squares * wanted.count));
        QVERIFY(std::abs(found.high / wanted.high - 1) < 1e-5); // The outlying row is among the longest.
        QVERIFY(!found.sample.empty());
    }

    void aSampleKnowsHowLargeTheEntriesOfALevelAre()
    {
        // One outlying row would dominate the whole, and a sample may miss it.
        const auto circuit = *TiledCircuit::create(factors(2300, 5000, 1), Task{}); // overview level 3
        QCOMPARE(circuit->overviewLevel(), 3);
        for (int level = 1; level < 3; ++level)
            for (const Aggregate aggregate : {Aggregate::Strongest, Aggregate::Mean}) {
                const ValueStatistics wanted =
                    statisticsOf(*circuit->entries(aggregate, circuit->wholeLevel(level), Task{}));
                const ValueStatistics& found = circuit->statistics(aggregate, level);
                QCOMPARE(found.count, wanted.count);
                const double ratio = std::sqrt(found.squares / wanted.squares);
                QVERIFY2(ratio > 0.8 && ratio < 1.25, qPrintable(QString::number(ratio)));
            }
    }

    void refusesFactorsThatAreNotFinite()
    {
        Matrix<float> left = Matrix<float>::Ones(30, 2);
        left(11, 1) = std::numeric_limits<float>::quiet_NaN();
        auto circuit = FactoredMatrix<float>::create(std::move(left), Matrix<float>::Ones(2, 40));
        QVERIFY(test::failsWith(TiledCircuit::create(*std::move(circuit), Task{}), ErrorCode::Corrupt,
                                "NaN or infinity"));
    }

    void stopsWhenAskedTo()
    {
        std::stop_source stop;
        stop.request_stop();
        const Task task{.stop = stop.get_token(), .onProgress = {}};
        QVERIFY(test::failsWith(TiledCircuit::create(factors(300, 300), task), ErrorCode::Cancelled, ""));
        const auto circuit = tiled(700, 1301);
        QVERIFY(test::failsWith(circuit->entries(Aggregate::Strongest, circuit->wholeLevel(2), task),
                                ErrorCode::Cancelled, ""));
    }

    void oneEntryIsTheSmallestCircuit()
    {
        const auto circuit = tiled(1, 1);
        QCOMPARE(circuit->levelCount(), 1);
        QVERIFY(test::isClose(*circuit->entries(Aggregate::Strongest, circuit->wholeLevel(0), Task{}),
                              factors(1, 1).dense(), tolerance));
    }
};

HEADWISE_TEST(TiledCircuitTest)
#include "tiled_circuit_test.moc"
