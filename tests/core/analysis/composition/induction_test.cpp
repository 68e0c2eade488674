#include "core/analysis/head_pairs.h"
#include "core/circuits/spectrum.h"
#include "core/runs/queue.h"

#include "tests/support/planted_induction.h"
#include "tests/support/program.h"
#include "tests/support/toy_classes.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>

using namespace headwise;
using test::PlantedInduction;

namespace {

constexpr int nHeads = PlantedInduction::nHeads;
constexpr int dHead = PlantedInduction::dHead;
constexpr int dModel = PlantedInduction::dModel;

double inductionAt(const ResultSet& results, const std::string& name, HeadId earlier, HeadId later)
{
    const ResultArray& array = *results.find("analyses/induction/" + name);
    const std::size_t heads = array.shape[1];
    const auto flat = [heads](HeadId head) {
        return static_cast<std::size_t>(head.layer) * heads + static_cast<std::size_t>(head.head);
    };
    return test::numbers(results, array.path)[flat(earlier) * array.shape[0] * heads + flat(later)];
}

/// The pairs whose number is above 0.99, as "0.1 1.5".
std::set<std::string> pairsAbove99(const ResultSet& results, const char* name)
{
    const auto values = test::numbers(results, std::string("analyses/induction/") + name);
    const auto& shape = results.find(std::string("analyses/induction/") + name)->shape;
    const std::size_t heads = shape[1], all = shape[0] * heads;
    const auto label = [heads](std::size_t head) {
        return dottedHead({static_cast<int>(head / heads), static_cast<int>(head % heads)});
    };
    std::set<std::string> pairs;
    for (std::size_t i = 0; i < values.size(); ++i)
        if (values[i] > 0.99)
            pairs.insert(label(i / all) + " " + label(i % all));
    return pairs;
}

/// "0.1 1.5", the best pair first.
std::vector<std::string> candidates(const ResultSet& results)
{
    return std::get<std::vector<std::string>>(
        results.find("analyses/induction/candidate_combined")->attributes.at("pairs"));
}

/// max(0, (x − x₀)/(1 − x₀)) of a head of layer 0, x₀ the array's null.
double beyondNull(const ResultSet& results, const std::string& name, int head)
{
    const ResultArray& array = *results.find("analyses/induction/" + name);
    const double value = test::numbers(results, array.path)[static_cast<std::size_t>(head)];
    return std::max(0.0, (value - *array.nullMean) / (1 - *array.nullMean));
}

double best(const ResultSet& results, const char* name)
{
    double largest = 0;
    for (const double value : test::numbers(results, std::string("analyses/induction/") + name))
        largest = std::isnan(value) ? largest : std::max(largest, value);
    return largest;
}

/// Heads of layer 1 by falling score, as "1.5".
std::vector<std::string> ordered(const ResultSet& results, const char* name, int layer, int heads)
{
    const auto scores = test::numbers(results, std::string("analyses/induction/") + name);
    std::vector<int> order(static_cast<std::size_t>(heads));
    std::iota(order.begin(), order.end(), 0);
    const std::size_t first = static_cast<std::size_t>(layer) * static_cast<std::size_t>(heads);
    const auto score = [&](int head) { return scores[first + static_cast<std::size_t>(head)]; };
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return score(a) > score(b); });
    std::vector<std::string> names;
    names.reserve(order.size());
    for (const int head : order)
        names.push_back(dottedHead({layer, head}));
    return names;
}

} // namespace

class InductionTest : public QObject {
    Q_OBJECT

private slots:
    void percentilesByHand()
    {
        const double none = std::nan("");
        const Sample found({3, none, 1, 3, 7});
        QCOMPARE(found.share(3), (1 + 1.0) / 4);
        QVERIFY(std::isnan(found.share(none)));
        QCOMPARE(found.share(1), 0.5 / 4);
        QCOMPARE(found.share(7), 3.5 / 4);
        const Sample sample({2, none, 4, 6});
        QCOMPARE(sample.size(), std::size_t(3));
        QCOMPARE(sample.mean(), 4.0);
        QCOMPARE(sample.deviation(), 2.0);
        QCOMPARE(sample.percentile(1), 0.5 / 4);
        QCOMPARE(sample.percentile(4), 2.0 / 4);
        QCOMPARE(sample.percentile(9), 3.5 / 4);
        QVERIFY(std::isnan(sample.percentile(none)));
        QVERIFY(std::isnan(Sample({1}).deviation()));
    }

    // W_OV¹ W_QK²ᵀ = read · readᵀ: norm √8 over √8 · √8; every eigenvalue of E read readᵀ Eᵀ is 1 or 0.
    void theNumbersOfAPlantedPairAreThoseOnPaper()
    {
        using Planted = PlantedInduction;
        const PlantedInduction planted(0);
        const auto results = test::analysed(planted.model.circuits(), {"induction"}, test::inDouble());
        QVERIFY(std::abs(inductionAt(results, "k_composition", Planted::previous, Planted::induction)
                         - 1 / std::sqrt(8.0))
                < 1e-12);
        QVERIFY(inductionAt(results, "k_composition", Planted::previous, Planted::afterNotPrevious) < 1e-12);
        QVERIFY(std::abs(inductionAt(results, "matching", Planted::previous, Planted::induction) - 1)
                < 1e-12);
        QVERIFY(std::abs(inductionAt(results, "matching", Planted::previous, Planted::noMatching)) < 1e-12);
        QVERIFY(
            std::abs(inductionAt(results, "matching", Planted::notPrevious, Planted::afterNotPrevious) - 1)
            < 1e-12);
        QVERIFY(std::abs(inductionAt(results, "same_token", Planted::previous, Planted::induction) - 1)
                < 1e-12);
        QVERIFY(std::abs(inductionAt(results, "same_token", Planted::previous, Planted::noMatching)) < 1e-12);
        QVERIFY(std::isnan(inductionAt(results, "combined", Planted::induction, Planted::previous)));
        QCOMPARE(candidates(results).front(), std::string("0.3 1.2"));
    }

    void aPlantedPairComesBeforeItsDecoys()
    {
        for (unsigned seed = 1; seed <= 5; ++seed) {
            using Planted = PlantedInduction;
            const PlantedInduction planted(0.1, seed);
            const auto results = test::analysed(planted.model.circuits(), {"induction"}, test::inDouble());
            QCOMPARE(candidates(results).front(), std::string("0.3 1.2"));
            QCOMPARE(ordered(results, "as_induction_head", 1, nHeads).front(), std::string("1.2"));
            QCOMPARE(ordered(results, "as_previous_token_head", 0, nHeads).front(), std::string("0.3"));
            // 1.4 attends as the induction head does, and copies a little by chance.
            std::set<std::string> passing = pairsAbove99(results, "role_percentile");
            passing.erase("0.3 1.4");
            QCOMPARE(passing, std::set<std::string>{"0.3 1.2"});
            const auto combined = test::numbers(results, "analyses/induction/candidate_combined");
            QVERIFY(combined[0] > 2 * combined[1]);
            // Each decoy has the property it was planted with.
            QVERIFY(inductionAt(results, "k_composition", Planted::previous, Planted::noCopying) > 0.3);
            QVERIFY(inductionAt(results, "k_composition", Planted::notPrevious, Planted::afterNotPrevious)
                    > 0.3);
            const auto copying = test::numbers(results, "analyses/induction/copying");
            QVERIFY(copying[nHeads + 6] > 0.9 && copying[nHeads + 1] > 0.9
                    && std::abs(copying[nHeads + 4]) < 0.5);
        }
    }

    /// If the user marks a head as attending to the previous token, its score no longer counts against its pairs. Nothing
    /// else changes.
    void aMarkedHeadIsTakenAsCertain()
    {
        using Planted = PlantedInduction;
        const PlantedInduction planted(0.1, 1);
        AnalysisOptions options = test::inDouble();
        const auto before = test::analysed(planted.model.circuits(), {"induction"}, options);
        options.inputs.previousTokenHeads = {Planted::notPrevious};
        const auto after = test::analysed(planted.model.circuits(), {"induction"}, options);
        const double share = beyondNull(before, "previous_token", Planted::notPrevious.head);
        QVERIFY(share < 0.9);
        QVERIFY(inductionAt(after, "combined", Planted::notPrevious, Planted::afterNotPrevious) > 0.1);
        QVERIFY(
            std::abs(inductionAt(after, "combined", Planted::notPrevious, Planted::afterNotPrevious) * share
                     - inductionAt(before, "combined", Planted::notPrevious, Planted::afterNotPrevious))
            < 1e-12);
        QCOMPARE(inductionAt(after, "combined", Planted::previous, Planted::induction),
                 inductionAt(before, "combined", Planted::previous, Planted::induction));
        QCOMPARE(inductionAt(after, "alignment_product", Planted::notPrevious, Planted::afterNotPrevious),
                 inductionAt(before, "alignment_product", Planted::notPrevious, Planted::afterNotPrevious));
        QCOMPARE(std::get<std::vector<std::string>>(
                     after.find("analyses/induction/combined")->attributes.at("previous_token_heads")),
                 std::vector<std::string>{"0." + std::to_string(Planted::notPrevious.head)});
        options.inputs.previousTokenHeads = {Planted::induction};
        QVERIFY(test::analysed(planted.model.circuits(), {"induction"}, options)
                    .warnings.back()
                    .find("no later layer exists")
                != std::string::npos);
        options.inputs.previousTokenHeads = {{4, 0}};
        const std::array chosen{findAnalysis("induction")};
        QVERIFY(test::failsWith(runAnalyses(planted.model.circuits(), chosen, options, Task{}),
                                ErrorCode::InvalidArgument, "no head 4.0"));
    }

    void theDemoIsRankedAsItsTruthSays()
    {
        const auto results = test::analysed(test::circuitsOf(HEADWISE_DEMO_MODEL), {"induction"});
        auto later = ordered(results, "as_induction_head", 1, 8);
        QCOMPARE(std::set<std::string>(later.begin(), later.begin() + 3),
                 (std::set<std::string>{"1.0", "1.5", "1.7"}));
        QCOMPARE(later.front(), std::string("1.5"));
        QCOMPARE(ordered(results, "as_previous_token_head", 0, 8).front(), std::string("0.1"));
        const auto pairs = candidates(results);
        QCOMPARE(pairs.size(), std::size_t(50));
        QCOMPARE(pairs.front(), std::string("0.1 1.5"));
        // Precision at 3 of the pairs is 1, and no other pair passes.
        const std::set<std::string> known{"0.1 1.0", "0.1 1.5", "0.1 1.7"};
        QCOMPARE(std::set<std::string>(pairs.begin(), pairs.begin() + 3), known);
        QCOMPARE(pairsAbove99(results, "role_percentile"), known);
        QVERIFY(pairsAbove99(results, "alignment_percentile").size() > 2 * known.size()); // the control
        const auto combined = test::numbers(results, "analyses/induction/candidate_combined");
        QVERIFY(combined[2] > 5 * combined[3]);
        // The numbers in the demo's own notes.
        QVERIFY(std::abs(inductionAt(results, "k_composition", {0, 1}, {1, 5}) - 0.15) < 0.005);
        QVERIFY(std::abs(inductionAt(results, "k_composition", {0, 1}, {1, 0}) - 0.13) < 0.005);
        QVERIFY(test::numbers(results, "analyses/induction/candidate_previous_token")[0] > 0.99);
        QVERIFY(std::abs(test::numbers(results, "analyses/induction/candidate_copying")[0] - 0.93) < 0.005);
        QCOMPARE(test::numbers(results, "analyses/induction/candidate_later_head")[0], 5.0);
        QCOMPARE(test::numbers(results, "analyses/induction/candidate_earlier_head")[0], 1.0);
    }

    /// The heads of the pairs that pass are those that attend by induction when the model runs.
    void thePairsThatPassDoInduction_data()
    {
        QTest::addColumn<QString>("folder");
        QTest::addColumn<int>("inductionHeads");
        QTest::newRow("demo") << QStringLiteral(HEADWISE_DEMO_MODEL) << 3;
        QTest::newRow("stories260k") << QStringLiteral(HEADWISE_TEST_DATA "/models/stories260k") << 0;
    }
    void thePairsThatPassDoInduction()
    {
        QFETCH(QString, folder);
        QFETCH(int, inductionHeads);
        const Circuits circuits = test::circuitsOf(folder.toStdString());
        const auto results = test::analysed(circuits, {"induction", "pattern_scores"});
        const auto attention = test::numbers(results, "analyses/pattern_scores/induction");
        std::set<std::string> promised, measured;
        for (const std::string& pair : pairsAbove99(results, "role_percentile"))
            promised.insert(pair.substr(pair.find(' ') + 1));
        const int heads = circuits.config().nHeads;
        for (std::size_t i = 0; i < attention.size(); ++i)
            if (attention[i] > 0.3)
                measured.insert(dottedHead({static_cast<int>(i) / heads, static_cast<int>(i) % heads}));
        QCOMPARE(promised, measured);
        QCOMPARE(measured.size(), static_cast<std::size_t>(inductionHeads));
        QVERIFY(!pairsAbove99(results, "alignment_percentile").empty()); // says something else
    }

    /// Roles that cannot be re-paired, one head a layer, leave every draw at the one pair's own score.
    void oneHeadALayerHasNoOtherPair()
    {
        test::ToyOptions options;
        options.nHeads = 1;
        options.positional = "none";
        const auto results = test::analysed(test::toyCircuits(options), {"induction"}, test::inDouble());
        const double combined = inductionAt(results, "combined", {0, 0}, {1, 0});
        const auto maxima = test::numbers(results, "analyses/induction/role_maximum");
        QCOMPARE(maxima.size(), std::size_t(10000));
        for (const double maximum : maxima)
            QCOMPARE(maximum, combined);
        QCOMPARE(inductionAt(results, "role_percentile", {0, 0}, {1, 0}), 0.0);
    }

    /// By its own construction one random model in a hundred has a pair above 0.99.
    void shuffledWeightsGiveNoPairAboveChance()
    {
        int aligned = 0, rePaired = 0;
        for (unsigned seed = 1; seed <= 4; ++seed) {
            test::PlantedModel demo{std::filesystem::path(HEADWISE_DEMO_MODEL)};
            demo.shuffle(seed);
            PlantedInduction planted(0.1, seed);
            planted.model.shuffle(seed);
            for (const Circuits& circuits : {demo.circuits({}), planted.model.circuits()}) {
                const auto results = test::analysed(circuits, {"induction"});
                aligned += best(results, "alignment_percentile") > 0.99 ? 1 : 0;
                rePaired += best(results, "role_percentile") > 0.99 ? 1 : 0;
            }
        }
        QCOMPARE_LE(aligned, 1); // of eight models
        QCOMPARE_LE(rePaired, 1);
    }

    void thePairsAgreeWithTheDenseProducts()
    {
        for (const auto& [name, options] : test::toyClasses()) {
            const Circuits circuits = test::toyCircuits(options);
            const ModelConfig& config = circuits.config();
            const auto results = test::analysed(circuits, {"induction"}, test::inDouble());
            const Matrix<double> E = circuits.weights().W_E<double>(0, config.dVocab);
            for (int p = 0; p < config.nHeads; ++p) {
                for (int i = 0; i < config.nHeads; ++i) {
                    const Matrix<double> ov = test::denseCircuit(circuits, CircuitKind::Ov, {0, p});
                    const Matrix<double> qk = test::denseCircuit(circuits, CircuitKind::Qk, {1, i});
                    const double composition = (ov * qk.transpose()).norm() / ov.norm() / qk.norm();
                    const Matrix<double> M = E * qk * ov.transpose() * E.transpose();
                    const double rank = std::min({config.dHead, config.dModel, config.dVocab});
                    const double sameToken = M.trace() * std::abs(M.trace()) / (rank * M.squaredNorm());
                    QVERIFY2(std::abs(inductionAt(results, "same_token", {0, p}, {1, i}) - sameToken) < 1e-5,
                             name);
                    const auto lambda = test::eigenvaluesOf(M);
                    const double matching = lambda.sum().real() / lambda.cwiseAbs().sum();
                    QVERIFY2(std::abs(inductionAt(results, "k_composition", {0, p}, {1, i}) - composition)
                                 < 1e-12,
                             name);
                    QVERIFY2(std::abs(inductionAt(results, "matching", {0, p}, {1, i}) - matching) < 1e-5,
                             name);
                }
            }
        }
    }

    // The default precision multiplies in float32, whatever the scale of the weights.
    void singlePrecisionFindsTheSamePairs()
    {
        for (const double scale : {1.0, 1e-22, 1e22}) {
            PlantedInduction planted(0.3);
            const Circuits plain = planted.model.circuits();
            for (const HeadId head : {PlantedInduction::previous, PlantedInduction::induction}) {
                const auto w = plain.weights().head<double>(head);
                planted.model.set("W_V", head, w.W_V * scale);
                planted.model.set("W_O", head, w.W_O / scale);
            }
            const Circuits circuits = planted.model.circuits();
            const auto exact = test::analysed(circuits, {"induction"}, test::inDouble());
            const auto single = test::analysed(circuits, {"induction"});
            QCOMPARE(candidates(single).front(), candidates(exact).front());
            for (int p = 0; p < nHeads; ++p) {
                for (int i = 0; i < nHeads; ++i) {
                    for (const auto& [name, tolerance] :
                         {std::pair("k_composition", 1e-6), std::pair("matching", 1e-5),
                          std::pair("same_token", 1e-5)})
                        QVERIFY2(std::abs(inductionAt(single, name, {0, p}, {1, i})
                                          - inductionAt(exact, name, {0, p}, {1, i}))
                                     < tolerance,
                                 name);
                }
            }
        }
    }

    void combinedIsTheProductOfItsDefinition()
    {
        const PlantedInduction planted(0.3);
        const auto results = test::analysed(planted.model.circuits(), {"induction"}, test::inDouble());
        const double composition = *results.find("analyses/induction/k_composition")->nullMean;
        const auto copying = test::numbers(results, "analyses/induction/copying");
        for (int p = 0; p < nHeads; ++p) {
            for (int i = 0; i < nHeads; ++i) {
                const double k = inductionAt(results, "k_composition", {0, p}, {1, i});
                const double product = beyondNull(results, "previous_token", p)
                    * std::max(0.0, (k - composition) / (1 - composition))
                    * std::max(0.0, inductionAt(results, "same_token", {0, p}, {1, i}))
                    * std::max(0.0, copying[static_cast<std::size_t>(nHeads + i)]);
                QVERIFY(std::abs(inductionAt(results, "combined", {0, p}, {1, i}) - product) < 1e-12);
            }
        }
    }

    // Without learned or rotary positions the previous-token score is undefined: 1 for every head.
    void withoutPositionsTheOtherThreeDecide()
    {
        test::ToyOptions options;
        options.positional = "none";
        const Circuits circuits = test::toyCircuits(options);
        const auto results = test::analysed(circuits, {"induction"}, test::inDouble());
        for (const double score : test::numbers(results, "analyses/induction/previous_token"))
            QVERIFY(std::isnan(score));
        const double null = *results.find("analyses/induction/k_composition")->nullMean;
        const auto copying = test::numbers(results, "analyses/induction/copying");
        double largest = 0;
        for (int p = 0; p < 3; ++p) {
            for (int i = 0; i < 3; ++i) {
                const double k = inductionAt(results, "k_composition", {0, p}, {1, i});
                const double product = std::max(0.0, (k - null) / (1 - null))
                    * std::max(0.0, inductionAt(results, "same_token", {0, p}, {1, i}))
                    * std::max(0.0, copying[static_cast<std::size_t>(3 + i)]);
                QVERIFY(std::abs(inductionAt(results, "combined", {0, p}, {1, i}) - product) < 1e-12);
                largest = std::max(largest, product);
            }
        }
        QVERIFY(largest > 0); // otherwise the product says nothing
    }

    void rotationsInsideHeadsAndThreadsChangeNothing()
    {
        const PlantedInduction planted(0.3);
        const Circuits circuits = planted.model.circuits();
        const auto results = test::analysed(circuits, {"induction"}, test::inDouble());
        Task alone;
        alone.threads = 1;
        const auto onOne = test::analysed(circuits, {"induction"}, test::inDouble(), alone);
        for (const char* name : {"candidate_matching", "candidate_combined", "candidate_role_percentile",
                                 "role_maximum", "alignment_maximum"}) {
            const std::string path = std::string("analyses/induction/") + name;
            QVERIFY(test::numbers(onOne, path) == test::numbers(results, path));
        }
        PlantedInduction turned(0.3);
        Matrix<double> T = test::orthonormalColumns(dHead, dHead, 9);
        T.col(0) *= 3; // a gauge need not be a rotation
        for (const HeadId head : {HeadId{0, 3}, HeadId{1, 2}}) {
            const auto w = circuits.weights().head<double>(head);
            turned.model.set("W_Q", head, w.W_Q * T);
            turned.model.set("W_K", head, w.W_K * test::inverseOf(T).transpose());
            turned.model.set("W_V", head, w.W_V * T);
            turned.model.set("W_O", head, test::inverseOf(T) * w.W_O);
        }
        const auto same = test::analysed(turned.model.circuits(), {"induction"}, test::inDouble());
        for (const char* name : {"k_composition", "matching", "same_token", "combined"})
            QVERIFY(
                std::abs(inductionAt(same, name, {0, 3}, {1, 2}) - inductionAt(results, name, {0, 3}, {1, 2}))
                < 1e-10);
    }

    void headsNotAskedForAreLeftOut()
    {
        AnalysisOptions options = test::inDouble();
        options.heads = {{0, 3}, {1, 2}, {1, 4}};
        const PlantedInduction planted(0.1);
        const auto results = test::analysed(planted.model.circuits(), {"induction"}, options);
        QCOMPARE(candidates(results), (std::vector<std::string>{"0.3 1.2", "0.3 1.4"}));
        QVERIFY(std::isnan(inductionAt(results, "combined", {0, 5}, {1, 2})));
        QVERIFY(std::isnan(test::numbers(results, "analyses/induction/copying")[nHeads]));
    }

    /// The null has the percentiles that a number among n others can take, (i + ½)/(n + 1): for one pair, the product of
    /// four odd numbers over (2n + 2)⁴.
    void chanceTakesThePercentilesThatNumbersTake()
    {
        test::ToyOptions options;
        options.nHeads = 1;
        const auto results = test::analysed(test::toyCircuits(options), {"induction"}, test::inDouble());
        const auto maxima = test::numbers(results, "analyses/induction/alignment_maximum");
        QCOMPARE(maxima.size(), std::size_t(1000));
        const double unit = std::pow(2.0 * (256 + 1), 4);
        for (const double maximum : maxima) {
            const double product = std::round(maximum * unit);
            QVERIFY(std::abs(maximum * unit - product) < 1e-3);
            QVERIFY(std::fmod(product, 2) == 1);
        }
    }

    void oneLayerHasNoInductionCircuit()
    {
        test::ToyOptions options;
        options.nLayers = 1;
        const auto results = test::analysed(test::toyCircuits(options), {"induction"});
        QVERIFY(results.arrays.empty());
        QCOMPARE(results.warnings.size(), std::size_t(1));
        QVERIFY(results.warnings[0].find("two layers") != std::string::npos);
    }

    void aHeadThatIsNotFiniteIsLeftOut()
    {
        PlantedInduction planted(0.1);
        planted.model.set("W_K", {1, 7}, Matrix<double>::Constant(dModel, dHead, std::nan("")));
        planted.model.set("W_O", {0, 0}, Matrix<double>::Zero(dHead, dModel));
        const auto results = test::analysed(planted.model.circuits(), {"induction"}, test::inDouble());
        QCOMPARE(candidates(results).front(), std::string("0.3 1.2"));
        QVERIFY(std::isnan(inductionAt(results, "combined", {0, 3}, {1, 7})));
        QVERIFY(std::isnan(inductionAt(results, "combined", {0, 0}, {1, 2})));
    }
};

HEADWISE_TEST(InductionTest)
#include "induction_test.moc"
