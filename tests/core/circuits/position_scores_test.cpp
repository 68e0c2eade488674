#include "core/circuits/position_scores.h"

#include "tests/support/program.h"

#include <QTest>

#include <cmath>
#include <limits>

using namespace headwise;

namespace {

/// Column = query i, row = key j ≤ i; entries below the diagonal must not matter.
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
        QVERIFY(std::abs(kernel.deviation[0] - std::sqrt(6.0)) < 1e-12); // of 1, 4 and 7
        QCOMPARE(kernel.deviation[1], 0.5);
        QCOMPARE(kernel.deviation[2], 0.0);
        QVERIFY(std::abs(kernel.centredDeviation[0] - std::sqrt(2.0 / 3)) < 1e-12); // of 0, 1 and 2
        QCOMPARE(kernel.centredDeviation[1], 0.5);                                  // of −1 and −2
    }

    void aPictureHasTheScoresOfTheKeysThatAreSeen()
    {
        Matrix<double> scores = scoresOfThree(); // column = query
        for (const bool isMasked : {true, false}) {
            scores(1, 0) = 8, scores(2, 0) = 9, scores(2, 1) = 6;
            const Matrix<float> picture = positionPicture(scores, {isMasked, 0});
            for (int query = 0; query < 3; ++query)
                for (int key = 0; key < 3; ++key)
                    QVERIFY(key > query && isMasked
                                ? std::isnan(picture(query, key))
                                : picture(query, key) == static_cast<float>(scores(key, query)));
        }
        const Matrix<float> narrow = positionPicture(scores, {true, 2});
        QVERIFY(std::isnan(narrow(2, 0)) && narrow(2, 1) == 3.0F);
        const Matrix<float> all = positionPattern(scores, {false, 2}); // no mask has no window
        const double total = std::exp(1.0) + std::exp(8.0) + std::exp(9.0);
        QVERIFY(std::abs(all(0, 1) - std::exp(8.0) / total) < 1e-6);
        QVERIFY(std::abs(all.row(2).sum() - 1) < 1e-6F && all(2, 0) > 0);
        QCOMPARE(positionPattern(scores, {true, 2})(2, 0), 0.0F);
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

    /// A sink is a key that every query sees and nobody counts.
    void aSinkTakesItsPartOfThePreviousTokenScore()
    {
        const Matrix<double> scores = scoresOfThree();
        const double sink = 0.7;
        double sum = 0;
        for (Eigen::Index i = 1; i < 3; ++i)
            sum +=
                std::exp(scores(i - 1, i)) / (std::exp(sink) + scores.col(i).head(i + 1).array().exp().sum());
        QVERIFY(std::abs(previousTokenScore(scores, 0, sink) - sum / 2) < 1e-12);
        QVERIFY(previousTokenScore(scores, 0, sink) < previousTokenScore(scores));
        RowVector<double> byOffset(3);
        byOffset << 0.5, -1.5, 2;
        const double two = std::exp(0.5) + std::exp(-1.5) + std::exp(sink);
        const double expected = std::exp(-1.5) / two + std::exp(-1.5) / (two + std::exp(2.0));
        QVERIFY(std::abs(previousTokenScore(byOffset, 0, sink) - expected / 2) < 1e-12);
        const double inWindow = 2 * std::exp(-1.5) / two;
        QVERIFY(std::abs(previousTokenScore(byOffset, 2, sink) - inWindow / 2) < 1e-12);
    }
};

HEADWISE_TEST(PositionScoresTest)
#include "position_scores_test.moc"
