#include "core/results/entry_statistics.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"

#include <cmath>
#include <limits>

using namespace headwise;
using test::isOk;

class EntryStatisticsTest : public QObject {
    Q_OBJECT

private slots:
    void numbersByHand()
    {
        Matrix<float> m(2, 2);
        m << 1, 2, 3, 6;
        const EntryStatistics found = entryStatistics(m);
        QCOMPARE(found.mean, 3.0);
        QVERIFY(std::abs(found.deviation - std::sqrt(3.5)) < 1e-14);
        QVERIFY(found.range == std::optional(std::pair(1.0, 6.0)));
    }

    void whatIsNotFiniteIsLeftOut()
    {
        Matrix<float> m(1, 4);
        m << std::numeric_limits<float>::quiet_NaN(), 4, std::numeric_limits<float>::infinity(), 8;
        const EntryStatistics found = entryStatistics(m);
        QCOMPARE(found.mean, 6.0);
        QCOMPARE(found.deviation, 2.0);
        QVERIFY(std::isnan(entryStatistics(m.leftCols(1)).mean) && !entryStatistics(m.leftCols(1)).range);
        QVERIFY(std::isnan(entryStatistics(Matrix<float>()).deviation));
    }

    /// The whole product, in double.
    void factorsGiveTheMeanAndDeviationOfTheirProduct()
    {
        std::srand(7);
        const auto product =
            FactoredMatrix<float>::create(Matrix<float>::Random(97, 5), Matrix<float>::Random(5, 113));
        QVERIFY(isOk(product));
        const Matrix<double> dense = product->left().cast<double>() * product->right().cast<double>();
        const double mean = dense.mean();
        const double deviation = std::sqrt((dense.array() - mean).square().mean());
        const EntryStatistics found = entryStatistics(*product);
        QVERIFY(std::abs(found.mean - mean) < 1e-12);
        QVERIFY(std::abs(found.deviation - deviation) < 1e-10 * deviation);
        QVERIFY(!found.range);
    }
};

HEADWISE_TEST(EntryStatisticsTest)
#include "entry_statistics_test.moc"
