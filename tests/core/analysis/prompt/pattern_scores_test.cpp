#include "core/analysis/pattern_scores.h"
#include "core/analysis/prompt/repeated_tokens.h"
#include "core/runs/queue.h"

#include "tests/support/analysed.h"
#include "tests/support/planted.h"
#include "tests/support/program.h"
#include "tests/support/toy_classes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <limits>
#include <numbers>
#include <numeric>
#include <set>

using namespace headwise;

namespace {

const std::string patternScoresFolder = "analyses/pattern_scores/";

/// A head with all attention on key q + shift, or on key 0 if that does not exist.
Matrix<double> shifted(int n, int shift)
{
    Matrix<double> pattern = Matrix<double>::Zero(n, n);
    for (int q = 0; q < n; ++q)
        pattern(q, std::max(0, q + shift)) = 1;
    return pattern;
}

/// The heads of a model, the highest score first.
std::vector<std::string> rankedHeads(const ResultSet& results, const std::string& name, int heads)
{
    const auto scores = test::numbers(results, patternScoresFolder + name);
    std::vector<int> order(scores.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
        return scores[static_cast<std::size_t>(a)] > scores[static_cast<std::size_t>(b)];
    });
    std::vector<std::string> names;
    for (const int head : order)
        names.push_back(dottedHead({head / heads, head % heads}));
    return names;
}

/// A toy on disk that may be changed before it is read.
struct Toy {
    QTemporaryDir temporary;
    std::filesystem::path path = std::filesystem::path(temporary.path().toStdString()) / "toy";
    test::ToyModel model;

    explicit Toy(const test::ToyOptions& options)
        : model(test::writeToyModel(path, options))
    {
    }
    void set(const std::string& name, std::size_t first, std::size_t count, double value)
    {
        auto& values = model.tensors.at(name).values;
        std::fill_n(values.begin() + static_cast<std::ptrdiff_t>(first), count, value);
    }
    Circuits circuits() const
    {
        test::writeSafetensors(path / "model.safetensors", model.tensors, model.options.float64);
        return test::circuitsOf(path, test::noProcessing());
    }
};

} // namespace

class PatternScoresTest : public QObject {
    Q_OBJECT

private slots:
    // N = 4 after a first token: the copies are at 1 … 4 and 5 … 8. The query at 6 is the second token; its earlier copy
    // is at 2, and the token after that at 3.
    void aHandMadePatternTellsTheThreeHeadsApart()
    {
        const int n = 9, copy = 4;
        const PatternScores induction = patternScores(shifted(n, -copy + 1), copy);
        QCOMPARE(induction, (PatternScores{.induction = 1, .distance = 3}));
        const PatternScores duplicate = patternScores(shifted(n, -copy), copy);
        QCOMPARE(duplicate, (PatternScores{.duplicate = 1, .distance = 4}));
        QCOMPARE(patternScores(shifted(n, -1), copy), (PatternScores{.previous = 1, .distance = 1}));
        QCOMPARE(patternScores(shifted(n, 0), copy), (PatternScores{.current = 1}));
        QCOMPARE(patternScores(shifted(n, -n), copy), (PatternScores{.first = 1, .distance = 6.5}));
        // The classic off-by-one error looks one key too late or too early.
        QCOMPARE(patternScores(shifted(n, -copy + 2), copy).induction, 0.0);
        QCOMPARE(patternScores(shifted(n, -copy - 1), copy).duplicate, 0.0);
    }

    void onlyTheSecondCopyCounts()
    {
        Matrix<double> pattern = shifted(9, -3);
        pattern.topRows(5).setConstant(std::numeric_limits<double>::quiet_NaN());
        QCOMPARE(patternScores(pattern, 4).induction, 1.0);
        pattern.setZero();
        pattern(5, 2) = 0.5; // the first token of the second copy: its copy at 1, the token after at 2
        pattern(8, 5) = 0.25;
        QCOMPARE(patternScores(pattern, 4).induction, 0.75 / 4);
    }

    void evenAttentionScoresOneInAsManyAsItSees()
    {
        const PatternScores scores = patternScores(uniformPattern(9, 0, Sight::Causal), 4);
        const double mean = (1.0 / 6 + 1.0 / 7 + 1.0 / 8 + 1.0 / 9) / 4;
        for (const double score :
             {scores.induction, scores.duplicate, scores.previous, scores.first, scores.current})
            QVERIFY(std::abs(score - mean) < 1e-15);
        QVERIFY(std::abs(scores.distance - (2.5 + 3 + 3.5 + 4) / 4) < 1e-15);
        QVERIFY(std::abs(scores.entropy - std::log(6.0 * 7 * 8 * 9) / 4) < 1e-15);
        const PatternScores windowed = patternScores(uniformPattern(9, 2, Sight::Causal), 4);
        QCOMPARE(windowed,
                 (PatternScores{.previous = 0.5, .current = 0.5, .entropy = std::log(2.0), .distance = 0.5}));
        QCOMPARE(patternScores(uniformPattern(8, 0, Sight::Everything), 4).induction, 0.125);
    }

    void theSlopeAloneSetsItsDistance()
    {
        for (const int window : {0, 3}) {
            Matrix<double> pattern = Matrix<double>::Zero(9, 9);
            for (int q = 0; q < 9; ++q) {
                for (int j = window > 0 ? std::max(0, q + 1 - window) : 0; j <= q; ++j)
                    pattern(q, j) = std::exp(-0.25 * (q - j));
                pattern.row(q) /= pattern.row(q).sum();
            }
            QVERIFY(std::abs(slopeDistance(0.25, 9, 4, window) - patternScores(pattern, 4).distance) < 1e-12);
        }
        const double even = patternScores(uniformPattern(9, 0, Sight::Causal), 4).distance;
        QVERIFY(std::abs(slopeDistance(0, 9, 4, 0) - even) < 1e-12);
    }

    // A model without queries follows its slopes.
    void theNullOfAlibiIsWhatItsSlopesGive()
    {
        test::ToyOptions options = test::plantedOptions();
        options.positional = "alibi";
        options.nCtx = 40;
        test::PlantedModel model(options);
        for (int layer = 0; layer < options.nLayers; ++layer)
            for (int head = 0; head < options.nHeads; ++head)
                model.set("W_Q", {layer, head}, Matrix<double>::Zero(options.dModel, options.dHead));
        const ResultSet results = test::analysed(model.circuits(), {"pattern_scores"}, test::inDouble());
        const auto measured = test::numbers(results, patternScoresFolder + "distance");
        const auto expected = test::numbers(results, patternScoresFolder + "slope_distance");
        QCOMPARE(expected.size(), measured.size());
        for (std::size_t i = 0; i < measured.size(); ++i)
            QVERIFY(std::abs(measured[i] - expected[i]) < 1e-9);
        QVERIFY(expected[0] < expected[1]); // slopes 1/16 and 1/256
        const auto plain = test::analysed(test::toyCircuits({}), {"pattern_scores"});
        QVERIFY(!plain.find(patternScoresFolder + "slope_distance"));
    }

    // A model that reads only positions attends equally on every sequence, so any tokens give the oracle its patterns, and
    // repeated tokens nothing beyond their control.
    void theAnalysisEqualsThePatternsOfTheReference()
    {
        test::ToyOptions options;
        options.nCtx = 18;
        options.float64 = true;
        Toy toy(options);
        toy.set("embed.W_E", 0, 11 * 7, 0.0);
        const Circuits circuits = toy.circuits();
        const ResultSet results = test::analysed(circuits, {"pattern_scores"}, test::inDouble());
        const auto reference =
            test::referenceForward(toy.path, {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9});
        const auto induction = test::numbers(results, patternScoresFolder + "induction");
        const auto repeated = test::numbers(results, patternScoresFolder + "induction_repeated");
        const auto control = test::numbers(results, patternScoresFolder + "induction_control");
        const auto entropy = test::numbers(results, patternScoresFolder + "entropy");
        constexpr std::array<std::size_t, 3> periods{9, 5, 4};
        double null = 0;
        for (const std::size_t period : periods)
            for (std::size_t seen = period + 1; seen <= 2 * period; ++seen)
                null += 1.0 / static_cast<double>(3 * seen * period);
        for (std::size_t head = 0; head < 6; ++head) {
            const auto& pattern = reference.patterns[head / 3][head % 3];
            double followed = 0, disorder = 0;
            for (const std::size_t period : periods) {
                const double weight = 1.0 / static_cast<double>(3 * period);
                for (std::size_t q = period; q < 2 * period; ++q) {
                    followed += weight * pattern[q][q - period + 1];
                    for (std::size_t j = 0; j <= q; ++j)
                        disorder -= weight * pattern[q][j] * std::log(pattern[q][j]);
                }
            }
            QVERIFY(std::abs(repeated[head] - followed) < 1e-12);
            QVERIFY(std::abs(control[head] - followed) < 1e-12);
            QVERIFY(std::abs(induction[head]) < 1e-12);
            QVERIFY(std::abs(entropy[head] - disorder) < 1e-11);
        }
        const ResultArray* array = results.find(patternScoresFolder + "induction_repeated");
        QVERIFY(std::abs(*array->nullMean - null) < 1e-15);
        QCOMPARE(*results.find(patternScoresFolder + "induction")->nullMean, 0.0);
        QCOMPARE(std::get<std::vector<std::string>>(array->attributes.at("copy_lengths")),
                 (std::vector<std::string>{"9", "5", "4"}));
        QCOMPARE(std::get<bool>(array->attributes.at("begins_with_bos")), false);
    }

    /// Head 0.0 attends to the position 49 before the query, which in two copies of 50 tokens holds the token after the earlier
    /// copy. It reads no token.
    void aPositionalShortcutIsNoInduction()
    {
        constexpr int nCtx = 100, waves = 32;
        test::ToyOptions options = test::plantedOptions();
        options.dModel = 2 * waves + 8;
        options.dHead = 2 * waves;
        options.dVocab = 400;
        options.nCtx = nCtx;
        test::PlantedModel model(options);
        const Eigen::Index all = 2 * waves;
        Matrix<double> positions = Matrix<double>::Zero(nCtx, options.dModel);
        Matrix<double> query = Matrix<double>::Zero(options.dModel, all), key = query;
        for (Eigen::Index k = 0; k < waves; ++k) {
            const double turn = 2 * std::numbers::pi * static_cast<double>(k) / nCtx;
            for (int i = 0; i < nCtx; ++i)
                positions.row(i).segment(2 * k, 2) << std::cos(turn * i), std::sin(turn * i);
            const double c = std::cos(49 * turn), s = std::sin(49 * turn);
            query.block(2 * k, 2 * k, 2, 2) << c, -s, s, c;
            key.block(2 * k, 2 * k, 2, 2).setIdentity();
        }
        Matrix<double> tokens = Matrix<double>::Zero(options.dVocab, options.dModel);
        tokens.rightCols(8) = Matrix<double>::Random(options.dVocab, 8);
        model.set("embed.W_E", tokens);
        model.set("pos_embed.W_pos", positions);
        model.set("W_Q", {0, 0}, 8 * query);
        model.set("W_K", {0, 0}, key);
        const ResultSet results = test::analysed(model.circuits(), {"pattern_scores"}, test::inDouble());
        const auto of = [&](const char* name) {
            return test::numbers(results, patternScoresFolder + name)[0];
        };
        QVERIFY(of("induction_repeated") > 0.3);
        QVERIFY(std::abs(of("induction_control") - of("induction_repeated")) < 1e-12);
        QVERIFY(std::abs(of("induction")) < 1e-12);
    }

    /// The second copy is the same in a sequence and its control; the first shares no token with it at any place.
    void theControlChangesTheFirstCopyAlone()
    {
        for (const int vocabulary : {2, 7, 400}) {
            ModelConfig config;
            config.nLayers = 1;
            config.dVocab = vocabulary;
            config.nCtx = 128;
            const RepetitionPlan plan(config);
            QCOMPARE(plan.periods, (std::vector<int>{50, 37, 23}));
            RepeatedTokens tokens(config, {}, plan);
            for (const int period : plan.periods) {
                const RepeatedSequences drawn = tokens.next(period);
                QCOMPARE(drawn.repeated.size(), static_cast<std::size_t>(2 * period));
                QCOMPARE(drawn.control.size(), drawn.repeated.size());
                for (std::size_t i = 0; i < static_cast<std::size_t>(period); ++i) {
                    const std::size_t second = i + static_cast<std::size_t>(period);
                    QCOMPARE(drawn.repeated[i], drawn.repeated[second]);
                    QCOMPARE(drawn.control[second], drawn.repeated[second]);
                    QVERIFY(drawn.control[i] != drawn.control[second]);
                }
                const std::set<int> distinct(drawn.control.begin(), drawn.control.end());
                QVERIFY(vocabulary < 100 || distinct.size() == drawn.control.size());
            }
        }
    }

    void idsWithoutATokenAreNeverDrawn()
    {
        Toy toy{test::ToyOptions{}};
        toy.set("embed.W_E", 3 * 7, 6 * 7, std::numeric_limits<double>::quiet_NaN()); // ids 3 … 8
        const Circuits circuits = toy.circuits();
        AnalysisOptions ask;
        ask.unusedTokens.assign(11, false);
        std::fill_n(ask.unusedTokens.begin() + 3, 6, true);
        for (const double score : test::numbers(test::analysed(circuits, {"pattern_scores"}, ask),
                                                patternScoresFolder + "induction"))
            QVERIFY(score >= -1 && score <= 1);
        for (const double score :
             test::numbers(test::analysed(circuits, {"pattern_scores"}), patternScoresFolder + "induction"))
            QVERIFY(std::isnan(score)); // the control: otherwise they are
        ask.unusedTokens.assign(11, true);
        ask.unusedTokens[4] = false;
        const ResultSet none = test::analysed(circuits, {"pattern_scores"}, ask);
        QVERIFY(none.arrays.empty());
        QVERIFY(none.warnings.at(0).find("fewer than two ids") != std::string::npos);
    }

    void theDemosHeadsComeFirst()
    {
        const Circuits circuits = test::circuitsOf(HEADWISE_DEMO_MODEL);
        const ResultSet results = test::analysed(circuits, {"pattern_scores"});
        const ResultArray* array = results.find(patternScoresFolder + "induction");
        QCOMPARE(std::get<double>(array->attributes.at("sequences")), 51.0);
        QCOMPARE(std::get<std::vector<std::string>>(array->attributes.at("copy_lengths")),
                 (std::vector<std::string>{"50", "37", "23"}));
        QCOMPARE(std::get<bool>(array->attributes.at("begins_with_bos")), true);
        QCOMPARE(rankedHeads(results, "previous", 8).front(), std::string("0.1"));
        const auto induction = rankedHeads(results, "induction", 8);
        QCOMPARE(induction[0], std::string("1.5"));
        QCOMPARE(induction[1], std::string("1.0"));
        QCOMPARE(induction[2], std::string("1.7"));
        const auto scores = test::numbers(results, patternScoresFolder + "induction");
        const auto control = test::numbers(results, patternScoresFolder + "induction_control");
        QVERIFY(scores[8 + 7] > 0.5);
        for (const std::size_t head : {0, 5, 7})
            QVERIFY(control[8 + head] < 0.05);
    }

    void theSeedAloneDecides()
    {
        const Circuits circuits = test::toyCircuits({});
        Task oneThread;
        oneThread.threads = 1;
        AnalysisOptions other;
        other.inputs.seed = 1;
        const ResultSet first = test::analysed(circuits, {"pattern_scores"});
        QCOMPARE(first, test::analysed(circuits, {"pattern_scores"}, {}, oneThread));
        QVERIFY(test::numbers(first, patternScoresFolder + "induction")
                != test::numbers(test::analysed(circuits, {"pattern_scores"}, other),
                                 patternScoresFolder + "induction"));
    }

    void processingChangesNothing()
    {
        const Task alone{{}, {}, 1}; // the models are small: threads would wait for each other
        for (const auto& [name, options] : test::toyClasses()) {
            QTemporaryDir temporary;
            const auto path = std::filesystem::path(temporary.path().toStdString()) / "toy";
            test::writeToyModel(path, options);
            AnalysisOptions ask;
            ask.precision = Precision::F64;
            ask.heads = {{1, 2}};
            const auto raw =
                test::analysed(test::circuitsOf(path, test::noProcessing()), {"pattern_scores"}, ask, alone);
            const auto folded = test::analysed(test::circuitsOf(path), {"pattern_scores"}, ask, alone);
            const auto before = test::numbers(raw, patternScoresFolder + "previous");
            const auto after = test::numbers(folded, patternScoresFolder + "previous");
            const auto asked = static_cast<std::size_t>(options.nHeads + 2);
            for (std::size_t i = 0; i < before.size(); ++i) {
                QCOMPARE(std::isnan(after[i]), i != asked);
                QVERIFY2(i != asked || std::abs(before[i] - after[i]) < 1e-9, name);
            }
        }
    }

    void aContextForNoTwoCopiesIsRefused()
    {
        test::ToyOptions options;
        options.nCtx = 5;
        const ResultSet results = test::analysed(test::toyCircuits(options), {"pattern_scores"});
        QVERIFY(results.arrays.empty());
        QVERIFY(results.warnings.at(0).find("this model's is 5") != std::string::npos);
    }

    void itStops()
    {
        std::stop_source source;
        Task task;
        task.stop = source.get_token();
        task.onProgress = [&](int, int, std::string_view) { source.request_stop(); };
        const Analysis* row = findAnalysis("pattern_scores");
        const auto results = runAnalyses(test::toyCircuits({}), std::vector{row}, {}, task);
        QVERIFY(test::failsWith(results, ErrorCode::Cancelled, "cancelled"));
    }
};

HEADWISE_TEST(PatternScoresTest)
#include "pattern_scores_test.moc"
