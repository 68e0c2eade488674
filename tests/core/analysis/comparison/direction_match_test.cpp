#include "core/analysis/comparison/direction_match.h"

#include "tests/support/planted.h"
#include "tests/support/program.h"

#include <QTest>

#include <cmath>

using namespace headwise;
using test::orthonormalColumns;

namespace {

/// Every direction alone.
std::vector<int> alone(Eigen::Index count)
{
    std::vector<int> blocks;
    blocks.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i)
        blocks.push_back(i);
    return blocks;
}

bool areNear(const Matrix<double>& found, const Matrix<double>& expected, double tolerance)
{
    return found.rows() == expected.rows() && found.cols() == expected.cols()
        && (found - expected).cwiseAbs().maxCoeff() <= tolerance;
}

} // namespace

class DirectionMatchTest : public QObject {
    Q_OBJECT

private slots:
    void isTheCosineWhereAllStandAlone()
    {
        const Matrix<double> cosines =
            orthonormalColumns(13, 5, 1).transpose() * orthonormalColumns(13, 4, 2);
        QCOMPARE(directionMatches(cosines, alone(5), alone(4)), Matrix<double>(cosines.cwiseAbs()));
    }

    void blocksByHand()
    {
        // Old: one direction, then a block of two; new: a block of two, then one.
        Matrix<double> cosines(3, 3), expected(3, 3);
        cosines << 0.6, 0.0, 0.3, 0.0, 0.8, 0.1, 0.2, 0.3, 0.4;
        const double all = std::sqrt((0.36 + 0.64 + 0.09 + 0.01) / 2); // old 0 is too few for two new ones
        expected << all, all, all, all, all, all, 0.2, 0.5, 0.5;       // of the last ‖(0.3, 0.4)‖
        QVERIFY(areNear(directionMatches(cosines, {0, 0, 1}, {0, 1, 1}), expected, 1e-15));
        // Two new ones in a block, of old ones the first two; the third is what is left.
        const double both = std::sqrt((0.04 + 0.64 + 0.09) / 2), rest = std::sqrt((0.01 + 0.16) / 2);
        expected.resize(2, 3);
        expected << both, both, rest, both, both, rest;
        QVERIFY(areNear(directionMatches(cosines.bottomRows(2).eval(), {0, 0}, {0, 0, 1}), expected, 1e-15));
    }

    void noRotationInsideABlockChangesIt()
    {
        const Matrix<double> older = orthonormalColumns(23, 7, 3), newer = orthonormalColumns(23, 6, 4);
        const std::vector<int> oldBlocks{0, 1, 1, 1, 2, 3, 3}, newBlocks{0, 0, 1, 2, 2, 2};
        Matrix<double> turnedOld = older, turnedNew = newer;
        turnedOld.middleCols(1, 3) *= orthonormalColumns(3, 3, 5);
        turnedOld.rightCols(2) *= orthonormalColumns(2, 2, 6);
        turnedNew.leftCols(2) *= orthonormalColumns(2, 2, 7);
        turnedNew.rightCols(3) *= orthonormalColumns(3, 3, 8);
        const Matrix<double> found = directionMatches(newer.transpose() * older, newBlocks, oldBlocks);
        const Matrix<double> turned =
            directionMatches(turnedNew.transpose() * turnedOld, newBlocks, oldBlocks);
        QVERIFY(areNear(turned, found, 1e-14));
        QVERIFY(!areNear((turnedNew.transpose() * turnedOld).cwiseAbs(),
                         (newer.transpose() * older).cwiseAbs(), 0.01)); // that it could have
    }

    // The span of several old directions, slightly wider apart than the limit, may return as one block, and the reverse.
    void aSpanThatIsKeptIsMatchedHoweverItFallsIntoBlocks()
    {
        const Matrix<double> span = orthonormalColumns(29, 10, 9);
        const Matrix<double> turned = span * orthonormalColumns(10, 10, 10);
        const std::vector<int> whole(10, 0);
        const Matrix<double> ones = Matrix<double>::Ones(10, 10);
        QVERIFY(areNear(directionMatches(span.transpose() * turned, whole, whole), ones, 1e-14));
        QVERIFY(areNear(directionMatches(span.transpose() * turned, whole, alone(10)), ones, 1e-14));
        QVERIFY(areNear(directionMatches(span.transpose() * turned, alone(10), whole), ones, 1e-14));
        QVERIFY(areNear(directionMatches(span.transpose() * turned, whole, {0, 0, 0, 1, 1, 1, 2, 2, 2, 2}),
                        ones, 1e-14));
        // Fewer old directions than the block has cannot match it all.
        const Matrix<double> few = directionMatches(turned.transpose() * span.leftCols(3), whole, alone(3));
        QVERIFY(areNear(few.col(0), Matrix<double>::Constant(10, 1, std::sqrt(0.3)), 1e-14));
    }

    void aDirectionOfNoOldOneIsMatchedByNone()
    {
        const Matrix<double> basis = orthonormalColumns(29, 7, 11);
        const Matrix<double> older = basis.leftCols(6) * orthonormalColumns(6, 6, 12);
        const Matrix<double> found =
            directionMatches(basis.transpose() * older, {0, 1, 1, 1, 1, 1, 2}, {0, 0, 0, 0, 0, 0});
        QVERIFY(found.topRows(6).minCoeff() > 1 - 1e-14);
        QVERIFY(found.row(6).maxCoeff() < 1e-14);
        QCOMPARE(directionMatches(Matrix<double>(2, 0), {0, 1}, {}).cols(), Eigen::Index{0});
    }
};

HEADWISE_TEST(DirectionMatchTest)
#include "direction_match_test.moc"
