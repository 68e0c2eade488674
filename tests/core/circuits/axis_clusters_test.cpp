#include "core/circuits/axis_clusters.h"
#include "core/circuits/axis_order.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

using namespace headwise;
using test::isOk;

namespace {

constexpr int groups = 5, ofEach = 40, dimensions = 8;

/// Row i points along axis i % groups, with a little noise and any length.
Matrix<float> planted()
{
    std::mt19937 random(11);
    std::normal_distribution<float> noise(0, 0.05F);
    std::uniform_real_distribution<float> length(0.1F, 10);
    Matrix<float> rows(groups * ofEach, dimensions);
    for (Eigen::Index i = 0; i < rows.rows(); ++i) {
        for (Eigen::Index j = 0; j < dimensions; ++j)
            rows(i, j) = noise(random) + (j == i % groups ? 1.0F : 0.0F);
        rows.row(i) *= length(random);
    }
    return rows;
}

/// Counts how often the group changes from one position to the next.
int changes(const std::vector<int>& order)
{
    int count = 0;
    for (std::size_t i = 1; i < order.size(); ++i)
        count += order[i] % groups != order[i - 1] % groups ? 1 : 0;
    return count;
}

bool isPermutation(std::vector<int> order, int size)
{
    std::vector<int> all(static_cast<std::size_t>(size));
    std::iota(all.begin(), all.end(), 0);
    std::sort(order.begin(), order.end());
    return order == all;
}

} // namespace

class AxisClustersTest : public QObject {
    Q_OBJECT

private slots:
    void rowsOfLikeDirectionStandTogether()
    {
        const std::vector<int> order = clusterOrder(planted().cast<double>());
        QVERIFY(isPermutation(order, groups * ofEach));
        QCOMPARE(changes(order), groups - 1);
        QCOMPARE(clusterOrder(planted().cast<double>()), order);
    }

    void lengthsCountForNothing()
    {
        Matrix<double> rows = planted().cast<double>();
        const std::vector<int> order = clusterOrder(rows);
        for (Eigen::Index i = 0; i < rows.rows(); ++i)
            rows.row(i) *= std::exp2(i % 7 - 3); // exact, so that no tie is broken otherwise
        QCOMPARE(clusterOrder(rows), order);
    }

    void aRowWithoutADirectionComesLast()
    {
        Matrix<double> rows(4, 2);
        rows << 0, 0, 1, 0, 0, 1, 2, 0;
        const std::vector<int> order = clusterOrder(rows);
        QCOMPARE(order.back(), 0);
        QVERIFY(isPermutation(order, 4));
        const auto at = [&](int row) { return std::find(order.begin(), order.end(), row) - order.begin(); };
        QCOMPARE(std::abs(at(1) - at(3)), 1);
        QCOMPARE(clusterOrder(Matrix<double>::Zero(3, 2)), (std::vector<int>{0, 1, 2}));
        QCOMPARE(clusterOrder(Matrix<double>(0, 2)), std::vector<int>());
    }

    /// A product that is never formed gives the same clusters as the formed one.
    void factorsHaveTheClustersOfTheirProduct()
    {
        const Matrix<float> left = planted();
        const Matrix<float> right = planted().topRows(37).transpose();
        const auto factored = FactoredMatrix<float>::create(left, right);
        QVERIFY(isOk(factored));
        const auto found = axisOrders(*factored, AxisOrder::ByCluster);
        const auto dense = axisOrders(factored->dense(), AxisOrder::ByCluster);
        QVERIFY(isOk(found) && isOk(dense));
        QVERIFY(isPermutation(found->rows, groups * ofEach) && isPermutation(found->columns, 37));
        QCOMPARE(changes(found->rows), groups - 1);
        QCOMPARE(changes(found->columns), groups - 1);
        QCOMPARE(changes(dense->rows), groups - 1);
    }

    void anyVectorCanOrderAMatrix()
    {
        // Two parts, each with its own u and v.
        Matrix<float> M = Matrix<float>::Zero(4, 3);
        M(0, 1) = 5; // u₁ = e₀, v₁ = e₁
        M(2, 0) = 3; // u₂ = e₂, v₂ = e₀
        const auto second = axisOrders(M, AxisOrder::ByVector, 1);
        QVERIFY(isOk(second));
        QCOMPARE(second->rows.front(), 2);
        QCOMPARE(second->columns.front(), 0);
        const auto factored = FactoredMatrix<float>::create(M, Matrix<float>::Identity(3, 3));
        QCOMPARE(axisOrders(*factored, AxisOrder::ByVector, 1)->rows.front(), 2);
        QVERIFY(isOk(axisOrders(M, AxisOrder::ByVector, 99))); // its last
        M(1, 1) = NAN;
        QVERIFY(!axisOrders(M, AxisOrder::ByCluster));
    }
};

HEADWISE_TEST(AxisClustersTest)
#include "axis_clusters_test.moc"
