#include "core/analysis/spectra/direction_ends.h"

#include "tests/support/analysed.h"
#include "tests/support/program.h"

#include <QTest>

#include <random>

using namespace headwise;
using namespace headwise::test;

/// The strongest tokens of directions without their scores along all of them.
class DirectionEndsTest : public QObject {
    Q_OBJECT

private:
    static Circuits model(bool float64 = false)
    {
        ToyOptions toy;
        toy.dVocab = 1301, toy.dModel = 37, toy.float64 = float64; // more than one block of tokens
        return toyCircuits(toy);
    }

    static std::shared_ptr<const TokenSide> sideOf(const Circuits& circuits,
                                                   Precision precision = Precision::F32)
    {
        const auto side = tokenSide(circuits, Embedding::Raw, Task{}, precision, TokenParts::MatricesAlone);
        if (!side)
            qFatal("%s", printed(side.error()).constData());
        return *side;
    }

    static NamedDirections question(Eigen::Index d)
    {
        std::mt19937 random(7);
        std::normal_distribution<double> normal;
        NamedDirections of{Matrix<double>::NullaryExpr(d, 5, [&] { return normal(random); }), 3, {}, 10};
        of.directions.colwise().normalize();
        of.spans = {{0, 2}, {1, 3, 4}};
        of.unused.assign(1000, false); // shorter than the vocabulary
        of.unused[0] = of.unused[17] = true;
        return of;
    }

    static bool isNear(const std::vector<TokenEntry>& a, const std::vector<TokenEntry>& b)
    {
        return std::ranges::equal(a, b, [](const TokenEntry& one, const TokenEntry& other) {
            return one.id == other.id && std::abs(one.value - other.value) < 1e-12;
        });
    }

    /// Tells whether they are those of all scores in double.
    static bool isExact(const TokenSide& tokens, const DirectionSide& side, const NamedDirections& of)
    {
        const auto found = directionEnds(tokens, side, 0, of, Task{});
        const auto scores = directionScores(tokens, side, 0, of.directions, Task{});
        bool same = isOk(found) && isOk(scores) && std::ssize(found->ends) == of.listed
            && found->spans.size() == of.spans.size();
        for (Eigen::Index k = 0; same && k < of.listed; ++k) {
            const TokenEnds expected = ends(scores->col(k).transpose(), of.length, of.unused);
            const TokenEnds& is = found->ends[static_cast<std::size_t>(k)];
            same = isNear(is.top, expected.top) && isNear(is.bottom, expected.bottom)
                && jointSign(is) == jointSign(scores->col(k), of.unused);
        }
        for (std::size_t i = 0; same && i < of.spans.size(); ++i) {
            const Matrix<double> inside = (*scores)(Eigen::all, of.spans[i]);
            same =
                isNear(found->spans[i], ends(inside.rowwise().norm().transpose(), of.length, of.unused).top);
        }
        return same;
    }

private slots:
    void theListsAreThoseOfAllScores_data()
    {
        QTest::addColumn<int>("side");
        QTest::addColumn<bool>("float64");
        for (int side = 0; side < 4; ++side)
            for (const bool float64 : {false, true})
                QTest::addRow("%s%s", directionSides[static_cast<std::size_t>(side)].name.data(),
                              float64 ? ", float64" : "")
                    << side << float64;
    }
    void theListsAreThoseOfAllScores()
    {
        QFETCH(int, side);
        QFETCH(bool, float64);
        const Circuits circuits = model(float64);
        const auto tokens = sideOf(circuits, float64 ? Precision::F64 : Precision::F32);
        QVERIFY(isExact(*tokens, directionSides[static_cast<std::size_t>(side)], question(37)));
    }

    void whatFloat32CannotTellApartIsRankedInDouble()
    {
        const Circuits circuits = model();
        TokenSide tokens = *sideOf(circuits);
        Matrix<float> E = *tokens.E.whole<float>();
        E.col(0).setConstant(1); // equal in float32: the second column decides
        tokens.E = TokenMatrix(TokenMatrix::Vectors::Rows, std::move(E));
        NamedDirections of{Matrix<double>::Zero(37, 1), 1, {}, 10};
        of.directions(0, 0) = 1, of.directions(1, 0) = 1e-9;
        of.directions.colwise().normalize();
        QVERIFY(isExact(tokens, directionSides[0], of));
        of.directions.setZero(); // ties to the lower id
        QVERIFY(isExact(tokens, directionSides[0], of));
    }

    void listsAreNoLongerThanTheTokensInUse()
    {
        const Circuits circuits = model();
        NamedDirections of = question(37);
        of.unused.assign(1301, true);
        of.unused[5] = of.unused[900] = false;
        QVERIFY(isExact(*sideOf(circuits), directionSides[1], of));
        of.unused[5] = of.unused[900] = true;
        const auto none = directionEnds(*sideOf(circuits), directionSides[1], 0, of, Task{});
        QVERIFY(isOk(none));
        QVERIFY(none->ends[0].top.empty() && none->spans[0].empty());
        QCOMPARE(jointSign(none->ends[0]), 1.0);
    }

    void theSignIsThatOfTheLargestMagnitude()
    {
        QCOMPARE(jointSign(TokenEnds{{{3, 2.0}}, {{4, -1.0}}}), 1.0);
        QCOMPARE(jointSign(TokenEnds{{{3, 2.0}}, {{4, -3.0}}}), -1.0);
        QCOMPARE(jointSign(TokenEnds{{{3, 2.0}}, {{4, -2.0}}}), 1.0); // ties to the lower id
        QCOMPARE(jointSign(TokenEnds{{{5, 2.0}}, {{4, -2.0}}}), -1.0);
        QCOMPARE(jointSign(TokenEnds{{{5, -1.0}}, {{4, -2.0}}}), -1.0);
    }

    void itStopsWhenItIsAsked()
    {
        const Circuits circuits = model();
        std::stop_source stop;
        stop.request_stop();
        Task task;
        task.stop = stop.get_token();
        QVERIFY(failsWith(directionEnds(*sideOf(circuits), directionSides[0], 0, question(37), task),
                          ErrorCode::Cancelled, ""));
    }
};

HEADWISE_TEST(DirectionEndsTest)
#include "direction_ends_test.moc"
