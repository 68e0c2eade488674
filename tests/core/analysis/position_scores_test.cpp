#include "core/analysis/position_scores.h"

#include <QTest>

#include <cmath>
#include <limits>

using namespace headwise;

namespace {

/// Column = query i, row = key j ≤ i; what lies below the diagonal must not matter.
Matrix<double> scoresOfThree()
{
    const double none = std::numeric_limits<double>::quiet_NaN();
    Matrix<double> scores(3, 3);
    scores << 1, 2, 5, //
        none, 4, 3,    //
        none, none, 7;
    return scores;
}

} // namespace

class PositionScoresTest : public QObject {
    Q_OBJECT

private slots:
    void theKernelIsTheMeanOfEveryDiagonal()
    {
        const PositionKernel kernel = positionKernel(scoresOfThree());
        QCOMPARE(kernel.mean.size(), std::size_t(3));
        QCOMPARE(kernel.mean[0], (1.0 + 4 + 7) / 3);
        QCOMPARE(kernel.mean[1], (2.0 + 3) / 2);
        QCOMPARE(kernel.mean[2], 5.0);
        // The queries' means are 1, 3 and 5.
        QCOMPARE(kernel.centred[0], (0.0 + 1 + 2) / 3);
        QCOMPARE(kernel.centred[1], (-1.0 - 2) / 2);
        QCOMPARE(kernel.centred[2], 0.0);
    }

    void thePatternIsTheSoftmaxOverEarlierKeys()
    {
        const Matrix<float> pattern = positionPattern(scoresOfThree());
        QCOMPARE(pattern(0, 0), 1.0f);
        QCOMPARE(pattern(0, 1), 0.0f);
        QCOMPARE(pattern(1, 2), 0.0f);
        QVERIFY(std::abs(pattern(1, 0) - 1 / (1 + std::exp(2.0f))) < 1e-6f);
        const double total = std::exp(5.0) + std::exp(3.0) + std::exp(7.0);
        QVERIFY(std::abs(pattern(2, 1) - std::exp(3.0) / total) < 1e-6);
        for (int query = 0; query < 3; ++query)
            QVERIFY(std::abs(pattern.row(query).sum() - 1) < 1e-6f);
    }

    void thePreviousTokenScoreIsThePatternsFirstSubdiagonal()
    {
        const Matrix<double> scores = scoresOfThree();
        const Matrix<float> pattern = positionPattern(scores);
        QVERIFY(std::abs(previousTokenScore(scores) - (pattern(1, 0) + pattern(2, 1)) / 2) < 1e-6);
    }

    void theMeanTokenIsTheMeanRow()
    {
        Matrix<float> E(2, 3);
        E << 1, 2, 3, //
            3, 6, -3;
        const RowVector<double> mean = meanToken(E);
        QCOMPARE(mean(0), 2.0);
        QCOMPARE(mean(1), 4.0);
        QCOMPARE(mean(2), 0.0);
    }
};

QTEST_APPLESS_MAIN(PositionScoresTest)
#include "position_scores_test.moc"
