#include "core/series/series_changes.h"

#include "tests/support/program.h"

#include <QTest>

#include <limits>

using namespace headwise;

namespace {

constexpr TurnLevels changeLevels{0.4, 0.2};
constexpr float changeNan = std::numeric_limits<float>::quiet_NaN();

/// The turn of a score that has one or none.
std::optional<ScoreTurn> turnIn(const std::vector<float>& values)
{
    const auto turns = turnsOf(values, changeLevels);
    return turns.size() == 1 ? std::optional(turns.front()) : std::nullopt;
}

bool hasTurns(const std::vector<float>& values)
{
    return !turnsOf(values, changeLevels).empty();
}

/// A record of one layer with two heads and one score.
SeriesRecord recordOf(const std::string& path, const std::vector<std::pair<float, float>>& values,
                      std::optional<double> nullMean, std::optional<double> nullDeviation)
{
    SeriesRecord record;
    for (std::size_t i = 0; i < values.size(); ++i) {
        ResultArray array{.path = path,
                          .shape = {1, 2},
                          .values = std::vector<float>{values[i].first, values[i].second},
                          .axes = {Axis::Layer, Axis::Head},
                          .definition = {},
                          .title = "Score",
                          .unit = {},
                          .nullMean = nullMean,
                          .nullDeviation = nullDeviation,
                          .range = std::pair{-1.0, 1.0},
                          .attributes = {}};
        record.entries.push_back({static_cast<int>(10 * i), "step", {}, {}, {}, {array}});
    }
    return record;
}

} // namespace

/// The rule that finds the step at which a head changed.
class SeriesChangesTest : public QObject {
    Q_OBJECT

private slots:
    void aScoreThatRisesAndStaysIsFound()
    {
        const auto rise = turnIn({0, 0.1F, 0, 0.9F, 0.8F});
        QVERIFY(rise && !rise->isLoss);
        QCOMPARE(rise->before, 2);
        QCOMPARE(rise->after, 3);
        QVERIFY(rise->evidence > 0.97 && rise->evidence < 1);
    }

    void aPeakThatFallsBackIsNone()
    {
        QVERIFY(!hasTurns({0, 0, 0.9F, 0, 0}));
        // The second rise of a head that lost its role counts.
        const auto rise = turnIn({0, 0.9F, 0, 0.9F});
        QVERIFY(rise && rise->before == 2 && rise->after == 3);
    }

    void aDipAboveHalfOfTheRiseIsForgiven()
    {
        const auto rise = turnIn({0, 0.5F, 0.3F, 0.5F});
        QVERIFY(rise && rise->after == 1);
    }

    void aScoreThatFallsAndStaysIsFound()
    {
        const auto fall = turnIn({0.9F, 0.8F, 0.3F, 0.1F, changeNan, 0});
        QVERIFY(fall && fall->isLoss);
        QCOMPARE(fall->before, 2);
        QCOMPARE(fall->after, 3);
        QVERIFY(fall->evidence > 0.6 && fall->evidence < 1);
        QVERIFY(!hasTurns({0.9F, 0.8F, 0.3F, 0.25F})); // never below half of the rise
        QVERIFY(!hasTurns({0.9F, 0, 0}));              // at one step only
    }

    void aRoleThatIsGainedAndLostTurnsTwice()
    {
        const auto turns = turnsOf(std::vector<float>{0, 0, 0.9F, 0.9F, 0, 0, 0.9F}, changeLevels);
        QCOMPARE(turns.size(), std::size_t(3));
        QVERIFY(!turns[0].isLoss && turns[1].isLoss && !turns[2].isLoss);
        QCOMPARE(turns[0].after, 2);
        QCOMPARE(turns[1].before, 3);
        QCOMPARE(turns[1].after, 4);
        QCOMPARE(turns[2].after, 6);
        for (const ScoreTurn& turn : turns)
            QVERIFY(turn.evidence > 0.99); // between its neighbours
    }

    void aScoreThatIsHighOrLowThroughoutDoesNotChange()
    {
        QVERIFY(!hasTurns({0.9F, 0.8F, 0.9F}));
        QVERIFY(!hasTurns({0, 0.1F, 0.3F}));
        QVERIFY(!hasTurns({}));
        QVERIFY(!hasTurns({changeNan, changeNan}));
        QVERIFY(!hasTurns({changeNan, 0.9F}));
    }

    void stepsWithoutANumberArePassedOver()
    {
        const auto rise = turnIn({0, changeNan, 0.9F, changeNan});
        QVERIFY(rise);
        QCOMPARE(rise->before, 0);
        QCOMPARE(rise->after, 2);
    }

    void aSentenceNamesStepsHeadAndValues()
    {
        const auto changes =
            changesOf(recordOf("scores/previous_token", {{0.05F, 0}, {0.06F, 0}, {0.91F, 0}}, 0.04, 0.01));
        QCOMPARE(changes.size(), std::size_t(1));
        QCOMPARE(changes[0].text,
                 "between steps 10 and 20 L0H0 became a previous-token head (0.0600 to 0.910)");
        QCOMPARE(changes[0].score, "previous_token");
        QCOMPARE(changes[0].head, (HeadId{0, 0}));
        QCOMPARE(changes[0].before, 1);
        QCOMPARE(changes[0].after, 2);
    }

    void aLossIsASentenceToo()
    {
        const auto changes =
            changesOf(recordOf("scores/previous_token", {{0.91F, 0}, {0.91F, 0}, {0.05F, 0}}, 0.04, 0.01));
        QCOMPARE(changes.size(), std::size_t(1));
        QCOMPARE(changes[0].text,
                 "between steps 10 and 20 L0H0 stopped being a previous-token head (0.910 to 0.0500)");
        const auto other = changesOf(recordOf("scores/other", {{0, 1}, {0, 1}, {0, 0}}, 0, 0.01));
        QCOMPARE(other.size(), std::size_t(1));
        QCOMPARE(other[0].text,
                 "between steps 10 and 20 L0H1 fell back to the level of random heads in Score (1.00 to 0)");
    }

    /// 0.35 is far above the null, but no previous-token head; 0.35 is copying only where random heads spread little.
    void thresholdsAreThoseOfTheFindings()
    {
        QVERIFY(changesOf(recordOf("scores/previous_token", {{0, 0}, {0.35F, 0}}, 0, 0.01)).empty());
        QCOMPARE(changesOf(recordOf("scores/copying", {{0, 0}, {0.35F, 0}}, 0, 0.01)).size(), std::size_t(1));
        QVERIFY(changesOf(recordOf("scores/copying", {{0, 0}, {0.35F, 0}}, 0, 0.1)).empty());
    }

    void aScoreWithoutANullIsNotJudged()
    {
        QVERIFY(changesOf(recordOf("scores/previous_token", {{0, 0}, {1, 0}}, {}, {})).empty());
        QVERIFY(changesOf(recordOf("scores/other", {{0, 0}, {1, 0}}, 0, {})).empty());
        const auto other = changesOf(recordOf("scores/other", {{0, 0}, {0, 1}}, 0, 0.01));
        QCOMPARE(other.size(), std::size_t(1));
        QCOMPARE(other[0].text, "between steps 0 and 10 L0H1 rose above random heads in Score (0 to 1.00)");
    }

    void changesComeInTheOrderOfSteps()
    {
        const auto changes =
            changesOf(recordOf("scores/copying", {{0, 0}, {0, 0.8F}, {0.7F, 0.8F}}, 0, 0.01));
        QCOMPARE(changes.size(), std::size_t(2));
        QCOMPARE(changes[0].head, (HeadId{0, 1}));
        QCOMPARE(changes[1].head, (HeadId{0, 0}));
    }
};

HEADWISE_TEST(SeriesChangesTest)
#include "series_changes_test.moc"
