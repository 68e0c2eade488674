#include "core/analysis/inputs/token_counts.h"
#include "core/analysis/tokens/relation_lists.h"
#include "core/analysis/tokens/token_factors.h"
#include "core/runs/queue.h"
#include "core/tokenizer/tokenizer.h"

#include "tests/core/analysis/tokens/token_oracles.h"
#include "tests/support/dense_algebra.h"
#include "tests/support/planted_tokens.h"
#include "tests/support/program.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <set>

using namespace headwise;
using namespace headwise::test;

namespace {

std::vector<int> diagonalRanks(const Matrix<double>& m, double sign = 1)
{
    std::vector<int> ranks;
    for (Eigen::Index i = 0; i < m.rows(); ++i)
        ranks.push_back(rankIn(m, i, i, sign));
    return ranks;
}

double shareWithin(const std::vector<int>& ranks, int top)
{
    return static_cast<double>(std::count_if(ranks.begin(), ranks.end(), [&](int r) { return r < top; }))
        / static_cast<double>(ranks.size());
}

double median(std::vector<int> ranks)
{
    std::sort(ranks.begin(), ranks.end());
    const std::size_t n = ranks.size();
    return (ranks[(n - 1) / 2] + ranks[n / 2]) / 2.0;
}
} // namespace

/// Ranks of the diagonal, copy suppression, names and salient tokens.
class OwnTokensTest : public QObject {
    Q_OBJECT

private slots:
    void samplesAreSeededWithoutRepeats()
    {
        const std::vector<bool> unused{false, true, false, false, true};
        QCOMPARE(sampledTokens(5, unused, 10, 3), (std::vector<int>{0, 2, 3}));
        QCOMPARE(sampledTokens(6, unused, 10, 3), (std::vector<int>{0, 2, 3})); // beyond the marks: no token
        QCOMPARE(sampledTokens(2, {}, 10, 3), (std::vector<int>{0, 1}));
        const std::vector<int> some = sampledTokens(5000, {}, 100, 3);
        QCOMPARE(some.size(), std::size_t(100));
        QVERIFY(std::is_sorted(some.begin(), some.end()));
        QCOMPARE(std::set<int>(some.begin(), some.end()).size(), some.size());
        QCOMPARE(sampledTokens(5000, {}, 100, 3), some);
        QVERIFY(sampledTokens(5000, {}, 100, 4) != some);
        const double mean = std::accumulate(some.begin(), some.end(), 0.0) / 100;
        QVERIFY(std::abs(mean - 2500) < 4 * 5000 / std::sqrt(1200.0));
    }

    // Two of four tokens: the probability of each follows from all orders of drawing.
    void samplesByCountHaveTheirChances()
    {
        const std::vector<double> weights{1, 2, 5, 12};
        const TokenCounts counts("c.csv", weights);
        constexpr int times = 40000;
        std::array<double, 4> first{}, found{}, expected{};
        for (int seed = 0; seed < times; ++seed) {
            first[static_cast<std::size_t>(
                tokensSampledByCount(4, {}, counts, 1, static_cast<std::uint64_t>(seed))[0])] += 1.0 / times;
            for (const int id : tokensSampledByCount(4, {}, counts, 2, static_cast<std::uint64_t>(seed)))
                found[static_cast<std::size_t>(id)] += 1.0 / times;
        }
        for (std::size_t i = 0; i < 4; ++i) {
            expected[i] = weights[i] / 20;
            for (std::size_t j = 0; j < 4; ++j)
                expected[i] += j == i ? 0 : weights[j] / 20 * weights[i] / (20 - weights[j]);
            const auto isNear = [](double share, double chance) {
                return std::abs(share - chance) < 4.5 * std::sqrt(chance * (1 - chance) / times);
            };
            QVERIFY(isNear(first[i], weights[i] / 20));
            QVERIFY(isNear(found[i], expected[i]));
        }
    }

    void tokensWithoutACountAreDrawnLast()
    {
        std::vector<double> weights(100, 0.0);
        for (const std::size_t id : {3, 17, 40, 41, 77})
            weights[id] = id == 17 ? 1e-9 : 1e9;
        const TokenCounts counts("c.csv", weights);
        std::vector<bool> unused(100, false);
        unused[40] = true;
        QCOMPARE(tokensSampledByCount(100, unused, counts, 4, 5), (std::vector<int>{3, 17, 41, 77}));
        const std::vector<int> more = tokensSampledByCount(100, unused, counts, 30, 5);
        const std::set<int> drawn(more.begin(), more.end());
        QCOMPARE(drawn.size(), std::size_t(30));
        QVERIFY(drawn.contains(3) && drawn.contains(17) && drawn.contains(77) && !drawn.contains(40));
        const double mean = std::accumulate(more.begin(), more.end(), 0.0) / 30;
        QVERIFY(std::abs(mean - 50) < 4 * 100 / std::sqrt(12.0 * 30)); // the others: any of them
        QCOMPARE(tokensSampledByCount(100, unused, counts, 30, 5), more);
        QVERIFY(tokensSampledByCount(100, unused, counts, 30, 6) != more);
        QCOMPARE(tokensSampledByCount(3, {}, counts, 3, 5), (std::vector<int>{0, 1, 2}));
        QCOMPARE(tokensSampledByCount(120, {}, counts, 5, 1).size(),
                 std::size_t(5)); // beyond the counts: none
    }

    // More tokens than the sample holds; the few that occur are in it, for any number of threads.
    void ranksAreOfTokensThatOccur()
    {
        test::ToyOptions toy;
        toy.dVocab = 2311;
        const Circuits circuits = test::toyCircuits(toy);
        std::vector<double> weights(2311, 0.0);
        for (std::size_t id = 0; id < weights.size(); id += 2)
            weights[id] = 1.0 + static_cast<double>(id % 7);
        AnalysisOptions options = exactOptions();
        options.inputs.seed = 7;
        const std::vector<std::string> both{"diagonal_ranks", "copy_suppression"};
        const ResultSet even = test::analysed(circuits, both, options);
        options.inputs.tokenCounts = std::make_shared<const TokenCounts>("c.csv", weights);
        const ResultSet one =
            test::analysed(circuits, both, options, {.stop = {}, .onProgress = {}, .threads = 1});
        const ResultSet two =
            test::analysed(circuits, both, options, {.stop = {}, .onProgress = {}, .threads = 2});
        const auto sample = numbers(one, "analyses/diagonal_ranks/sample");
        QCOMPARE(sample.size(), std::size_t(2048));
        QCOMPARE(std::count_if(sample.begin(), sample.end(), [](double id) { return int(id) % 2 == 0; }),
                 std::ptrdiff_t(1156)); // all that occur
        QVERIFY(numbers(even, "analyses/diagonal_ranks/sample") != sample);
        for (const ResultArray& array : one.arrays) {
            QVERIFY2(std::get<std::string>(array.attributes.at("token_counts")) == "c.csv",
                     array.path.c_str());
            QVERIFY(!even.find(array.path)->attributes.contains("token_counts"));
            const auto mine = numbers(one, array.path), other = numbers(two, array.path);
            QVERIFY2(
                std::equal(mine.begin(), mine.end(), other.begin(), other.end(),
                           [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }),
                array.path.c_str());
        }
        QVERIFY(one.find("analyses/diagonal_ranks/sample")->definition.find("Efraimidis")
                != std::string::npos);
        const Matrix<double> ov = test::denseCircuit(circuits, CircuitKind::FullOv, {1, 0});
        double hits = 0;
        for (const double id : sample)
            hits += rankIn(ov, static_cast<Eigen::Index>(id), static_cast<Eigen::Index>(id)) < 10 ? 1 : 0;
        QCOMPARE(numbers(one, "analyses/diagonal_ranks/ov_top10")[at(circuits, {1, 0})], hits / 2048);
    }

    // E = W_U = 1, so that full OV is W_V W_O and full QK is W_Q W_Kᵀ: set by hand.
    void ranksOfAHandMadeDiagonal()
    {
        test::PlantedModel model(test::plantedSizes(4, 4, 4));
        const Matrix<double> one = Matrix<double>::Identity(4, 4);
        model.set("embed.W_E", one);
        model.set("unembed.W_U", one);
        Matrix<double> ov(4, 4);
        ov << 5, 1, 2, 3, // rank 0, from below 3
            9, 0, 9, 9,   // 3, 0
            1, 2, 1, 1,   // ties do not count: 1, 0
            4, 3, 2, 3;   // 1, 1
        model.set("W_V", {0, 0}, ov);
        model.set("W_O", {0, 0}, one);
        model.set("W_Q", {0, 0}, -ov);
        model.set("W_K", {0, 0}, one);
        model.set("W_O", {0, 1}, Matrix<double>::Zero(4, 4));
        const auto results = test::analysed(model.circuits(), {"diagonal_ranks"}, exactOptions());
        const std::string folder = "analyses/diagonal_ranks/";
        QCOMPARE(numbers(results, folder + "ov_top1")[0], 0.25);
        QCOMPARE(numbers(results, folder + "ov_top5")[0], 1.0);
        QCOMPARE(numbers(results, folder + "ov_median_rank")[0], 1.0); // of 0, 1, 1, 3
        QCOMPARE(numbers(results, folder + "negative_ov_top1")[0], 0.5);
        QCOMPARE(numbers(results, folder + "negative_ov_median_rank")[0], 0.5); // of 0, 0, 1, 3
        QCOMPARE(numbers(results, folder + "qk_top1")[0], 0.5);
        QCOMPARE(numbers(results, folder + "bin_start"), (std::vector<double>{0, 1, 3}));
        const auto histogram = numbers(results, folder + "ov_histogram");
        QCOMPARE(std::vector<double>(histogram.begin(), histogram.begin() + 3),
                 (std::vector<double>{1, 2, 1}));
        QCOMPARE(numbers(results, folder + "null_histogram"), (std::vector<double>{1, 2, 1}));
        QCOMPARE(*results.find(folder + "ov_top1")->nullMean, 0.25);
        QCOMPARE(*results.find(folder + "ov_top10")->nullMean, 1.0);
        QCOMPARE(*results.find(folder + "ov_median_rank")->nullMean, 1.5);
        const auto diagonal = numbers(results, folder + "ov_diagonal");
        QCOMPARE(std::vector<double>(diagonal.begin(), diagonal.begin() + 4),
                 (std::vector<double>{2.25, -6.75, -0.25, 0})); // less 2.75, 6.75, 1.25, 3
        QCOMPARE(numbers(results, folder + "qk_diagonal")[1], 6.75);
        QVERIFY(std::isnan(diagonal[4]));                             // a zero circuit
        QVERIFY(std::isnan(numbers(results, folder + "ov_top1")[1])); // likewise
        QVERIFY(!std::isnan(numbers(results, folder + "qk_top1")[1]));
    }

    void ranksAgreeWithDenseCircuits_data() { addClasses(); }
    void ranksAgreeWithDenseCircuits()
    {
        QFETCH(int, index);
        const Circuits circuits = classCircuits(index);
        const auto results = test::analysed(circuits, {"diagonal_ranks"}, exactOptions());
        for (const HeadId head : headsOf(circuits)) {
            const Matrix<double> ov = test::denseCircuit(circuits, CircuitKind::FullOv, head);
            const Matrix<double> qk = test::denseCircuit(circuits, CircuitKind::FullQk, head);
            const std::array<std::vector<int>, 3> expected{diagonalRanks(ov), diagonalRanks(ov, -1),
                                                           diagonalRanks(qk)};
            const auto diagonalIs = [&](const char* name, const Matrix<double>& M) {
                const Eigen::VectorXd expectedValues = M.diagonal() - M.rowwise().mean();
                const auto values = numbers(results, name);
                const Eigen::Map<const Eigen::VectorXd> found(
                    values.data() + static_cast<Eigen::Index>(at(circuits, head)) * M.rows(), M.rows());
                return (found - expectedValues).norm() <= 1e-12 * M.norm();
            };
            QVERIFY(diagonalIs("analyses/diagonal_ranks/ov_diagonal", ov));
            QVERIFY(diagonalIs("analyses/diagonal_ranks/qk_diagonal", qk));
            const std::array<const char*, 3> names{"ov", "negative_ov", "qk"};
            for (std::size_t i = 0; i < 3; ++i) {
                const std::string start = std::string("analyses/diagonal_ranks/") + names[i];
                for (const int top : {1, 5, 10})
                    QCOMPARE(numbers(results, start + "_top" + std::to_string(top))[at(circuits, head)],
                             shareWithin(expected[i], top));
                QCOMPARE(numbers(results, start + "_median_rank")[at(circuits, head)], median(expected[i]));
                const auto histogram = numbers(results, start + "_histogram");
                const std::size_t bins = histogram.size() / headsOf(circuits).size();
                QCOMPARE(std::accumulate(
                             histogram.begin() + static_cast<std::ptrdiff_t>(at(circuits, head) * bins),
                             histogram.begin() + static_cast<std::ptrdiff_t>((at(circuits, head) + 1) * bins),
                             0.0),
                         static_cast<double>(ov.rows()));
            }
        }
    }

    void copySuppressionAgreesWithDenseCircuits_data() { addClasses(); }
    void copySuppressionAgreesWithDenseCircuits()
    {
        QFETCH(int, index);
        test::ToyOptions toy = test::toyClasses()[static_cast<std::size_t>(index)].second;
        if (toy.dVocab != toy.dModel)
            toy.dVocab = 31;
        const Circuits circuits = test::toyCircuits(toy);
        auto options = exactOptions();
        options.embedding = Embedding::Effective;
        const auto results = test::analysed(circuits, {"copy_suppression"}, options);
        const Matrix<double> W_U = circuits.weights().W_U<double>(0, circuits.config().dVocabOut);
        for (const HeadId head : headsOf(circuits)) {
            const Matrix<double> E = denseEmbedding(circuits, Embedding::Effective, head.layer);
            const auto w = circuits.weights().head<double>(head);
            const Matrix<double> ov = E * w.W_V * w.W_O * W_U;
            const Matrix<double> qk = W_U.transpose() * w.W_Q * w.W_K.transpose() * E.transpose();
            const std::string folder = "analyses/copy_suppression/";
            const std::size_t place = at(circuits, head);
            QCOMPARE(numbers(results, folder + "ov_score")[place], shareWithin(diagonalRanks(ov, -1), 10));
            const std::vector<int> keyRanks = diagonalRanks(qk);
            const double meanRank =
                std::accumulate(keyRanks.begin(), keyRanks.end(), 0.0) / static_cast<double>(keyRanks.size());
            QVERIFY(std::abs(numbers(results, folder + "qk_mean_rank")[place] - meanRank) < 1e-12);
            double mass = 0; // a set of 64 is the whole vocabulary here
            for (Eigen::Index i = 0; i < qk.rows(); ++i) {
                const RowVector<double> e =
                    (qk.row(i) * circuits.config().attentionScaleOf(head.layer)).array().exp();
                mass += e(i) / e.sum() / static_cast<double>(qk.rows());
            }
            QVERIFY(std::abs(numbers(results, folder + "qk_mass")[place] - mass) < 1e-12);
            const std::size_t listed = std::min<std::size_t>(20, static_cast<std::size_t>(toy.dVocab));
            std::vector<std::pair<double, int>> order;
            for (int t = 0; t < toy.dVocab; ++t)
                order.emplace_back(ov(t, t) / ov.row(t).norm(), t);
            std::sort(order.begin(), order.end());
            for (std::size_t i = 0; i < listed; ++i) {
                const int token = order[i].second;
                QCOMPARE(numbers(results, folder + "tokens")[place * listed + i], static_cast<double>(token));
                QVERIFY(std::abs(numbers(results, folder + "share")[place * listed + i] - order[i].first)
                        < 1e-10);
                QCOMPARE(numbers(results, folder + "low_ranks")[place * listed + i],
                         static_cast<double>(rankIn(ov, token, token, -1)));
                QCOMPARE(numbers(results, folder + "key_ranks")[place * listed + i],
                         static_cast<double>(rankIn(qk, token, token)));
            }
        }
        QVERIFY(isMassNullRight(circuits, *results.find("analyses/copy_suppression/qk_mass")));
        QCOMPARE(*results.find("analyses/copy_suppression/qk_mean_rank")->nullMean, (toy.dVocab - 1) / 2.0);
    }

    /// Compares with 400 heads from another generator.
    static bool isMassNullRight(const Circuits& circuits, const ResultArray& mass)
    {
        const ModelConfig& config = circuits.config();
        double Q = 0, K = 0, heads = 0;
        for (const HeadId head : headsOf(circuits)) {
            const auto w = circuits.weights().head<double>(head);
            Q += w.W_Q.squaredNorm() / static_cast<double>(w.W_Q.size());
            K += w.W_K.squaredNorm() / static_cast<double>(w.W_K.size());
            ++heads;
        }
        const Matrix<double> E = denseEmbedding(circuits, Embedding::Effective, config.nLayers - 1);
        const Matrix<double> W_U = circuits.weights().W_U<double>(0, config.dVocabOut);
        std::mt19937 random(99);
        std::normal_distribution<double> normal;
        const auto gaussian = [&](double square) -> Matrix<double> {
            return std::sqrt(square)
                * Matrix<double>::NullaryExpr(config.dModel, config.dHead, [&] { return normal(random); });
        };
        Eigen::ArrayXd found(400);
        for (double& value : found) {
            const Matrix<double> queries = W_U.transpose() * gaussian(Q / heads);
            const Matrix<double> scores =
                queries * (E * gaussian(K / heads)).transpose() * config.attentionScaleOf(config.nLayers - 1);
            value = 0;
            for (Eigen::Index i = 0; i < scores.rows(); ++i)
                value += 1 / (scores.row(i).array() - scores(i, i)).exp().sum()
                    / static_cast<double>(scores.rows());
        }
        const double deviation = std::sqrt((found - found.mean()).square().mean());
        return std::abs(*mass.nullMean - found.mean()) < 0.6 * deviation
            && std::abs(*mass.nullDeviation / deviation - 1) < 0.5;
    }

    // W_OV = −1 and W_QK = 1 with E = W_Uᵀ of unit rows: every token attends to itself and suppresses itself most.
    void aPlantedSuppressor()
    {
        test::PlantedModel model(test::plantedSizes(24, 24, 40));
        Matrix<double> E = test::evenNumbers(40, 24, 3);
        E.rowwise().normalize();
        const Matrix<double> one = Matrix<double>::Identity(24, 24);
        model.set("embed.W_E", E);
        model.set("unembed.W_U", E.transpose());
        for (const char* name : {"W_Q", "W_V"})
            model.set(name, {1, 1}, one);
        model.set("W_K", {1, 1}, 100 * one);
        model.set("W_O", {1, 1}, -one);
        const Circuits circuits = model.circuits();
        const auto results = test::analysed(circuits, {"copy_suppression", "diagonal_ranks"}, exactOptions());
        QCOMPARE(numbers(results, "analyses/copy_suppression/ov_score")[3], 1.0);
        QCOMPARE(numbers(results, "analyses/copy_suppression/qk_mean_rank")[3], 0.0);
        QVERIFY(numbers(results, "analyses/copy_suppression/qk_mass")[3] > 0.9);
        QCOMPARE(numbers(results, "analyses/diagonal_ranks/negative_ov_top1")[3], 1.0);
        QCOMPARE(numbers(results, "analyses/diagonal_ranks/ov_top10")[3], 0.0);
        QCOMPARE(numbers(results, "analyses/diagonal_ranks/qk_median_rank")[3], 0.0);
        const double null = *results.find("analyses/copy_suppression/ov_score")->nullMean;
        const double spread = *results.find("analyses/copy_suppression/ov_score")->nullDeviation;
        QVERIFY(std::abs(numbers(results, "analyses/copy_suppression/ov_score")[0] - null) < 4 * spread);
    }

    // A vocabulary larger than the sample, with ids without a token: the ranks are still among all tokens.
    void aSampleOfALargeVocabulary()
    {
        test::PlantedModel model(test::plantedSizes(7, 5, 3500));
        const Circuits circuits = model.circuits();
        auto options = exactOptions();
        options.unusedTokens.assign(3500, false);
        for (std::size_t i = 0; i < 3500; i += 3)
            options.unusedTokens[i] = true;
        const auto results = test::analysed(circuits, {"diagonal_ranks"}, options);
        const auto sample = numbers(results, "analyses/diagonal_ranks/sample");
        QCOMPARE(sample.size(), std::size_t(2048));
        const Matrix<double> ov = test::denseCircuit(circuits, CircuitKind::FullOv, {1, 1});
        std::vector<int> ranks;
        for (const double id : sample) {
            const auto t = static_cast<Eigen::Index>(id);
            QVERIFY(t % 3 != 0);
            int rank = 0;
            for (Eigen::Index j = 0; j < 3500; ++j)
                rank += j % 3 != 0 && ov(t, j) > ov(t, t) ? 1 : 0;
            ranks.push_back(rank);
        }
        double mean = 0;
        const auto first = static_cast<Eigen::Index>(sample.front());
        for (Eigen::Index j = 0; j < 3500; ++j)
            mean += j % 3 != 0 ? ov(first, j) / 2333 : 0;
        QVERIFY(std::abs(numbers(results, "analyses/diagonal_ranks/ov_diagonal")[3 * sample.size()]
                         - (ov(first, first) - mean))
                < 1e-12 * ov.norm());
        QCOMPARE(numbers(results, "analyses/diagonal_ranks/ov_median_rank")[3], median(ranks));
        QCOMPARE(numbers(results, "analyses/diagonal_ranks/ov_top10")[3], shareWithin(ranks, 10));
        QCOMPARE(*results.find("analyses/diagonal_ranks/ov_median_rank")->nullMean, (2333 - 1) / 2.0);
    }

    void theBasisOfAHeadAndTheThreadsDoNotMatter()
    {
        const std::vector<std::string> names{"diagonal_ranks", "copy_suppression", "salient_tokens"};
        const auto found = [&](const Matrix<double>& turn, int threads) {
            test::PlantedModel model(test::plantedSizes(13, 5, 97));
            const Matrix<double> W = test::evenNumbers(13, 20, 8);
            const Matrix<double> back = test::inverseOf(turn);
            model.set("W_V", {0, 1}, W.leftCols(5) * turn);
            model.set("W_O", {0, 1}, back * W.middleCols(5, 5).transpose());
            model.set("W_Q", {0, 1}, W.middleCols(10, 5) * turn);
            model.set("W_K", {0, 1}, W.rightCols(5) * back.transpose());
            Task task;
            task.threads = threads;
            return test::analysed(model.circuits(), names, exactOptions(), task);
        };
        const Matrix<double> one = Matrix<double>::Identity(5, 5);
        const auto expected = found(one, 1);
        QCOMPARE(found(one, 3), expected);
        const auto turned = found(test::evenNumbers(5, 5, 10) + 3 * one, 1);
        for (const ResultArray& array : expected.arrays) {
            const auto a = numbers(expected, array.path);
            const auto b = numbers(turned, array.path);
            for (std::size_t i = 0; i < a.size(); ++i)
                QVERIFY2(std::abs(a[i] - b[i]) <= 1e-10 * std::max(1.0, std::abs(a[i])), array.path.c_str());
        }
    }

    void headsThatWereNotAskedForAreAbsent()
    {
        const Circuits circuits = test::toyCircuits({});
        auto options = exactOptions();
        options.heads = {{1, 2}};
        options.inputs.tokenizer = nameVocabulary(11, 7);
        const std::vector<std::string> names{"diagonal_ranks", "copy_suppression", "name_copying",
                                             "salient_tokens"};
        const auto results = test::analysed(circuits, names, options);
        for (const char* path :
             {"analyses/diagonal_ranks/ov_top1", "analyses/copy_suppression/ov_score",
              "analyses/copy_suppression/qk_mass", "analyses/name_copying/score",
              "analyses/salient_tokens/null_norm", "analyses/salient_tokens/largest_by_null"}) {
            const auto values = numbers(results, path);
            for (std::size_t i = 0; i < values.size(); ++i)
                QVERIFY2(std::isnan(values[i]) == (i != 5), path);
        }
        QCOMPARE(numbers(results, "analyses/salient_tokens/ids")[0], -1.0);
        QCOMPARE(numbers(results, "analyses/copy_suppression/tokens")[0], -1.0);
    }

    void whatDoesNotApplyIsSaid()
    {
        ModelConfig config;
        config.dVocab = 11;
        config.dVocabOut = 13;
        AnalysisOptions options;
        options.inputs.tokenizer = nameVocabulary(11, 7);
        for (const char* name : {"diagonal_ranks", "copy_suppression"}) {
            QVERIFY(whyLeftOut(*findAnalysis(name), config, options).find("11 tokens and predicts 13")
                    != std::string::npos);
            AnalysisOptions unembed;
            unembed.embedding = Embedding::Unembed;
            QCOMPARE(whyLeftOut(*findAnalysis(name), config, unembed), std::string());
        }
        config.attentionOnly = true;
        QVERIFY(whyLeftOut(*findAnalysis("name_copying"), config, options).find("MLP") != std::string::npos);
        config.attentionOnly = false;
        QCOMPARE(whyLeftOut(*findAnalysis("name_copying"), config, options), std::string());
        QVERIFY(!whyLeftOut(*findAnalysis("name_copying"), config, {}).empty());
    }

    void stopsWhenAsked()
    {
        std::stop_source stop;
        stop.request_stop();
        Task task;
        task.stop = stop.get_token();
        const Circuits circuits = test::toyCircuits({});
        for (const char* name : {"diagonal_ranks", "copy_suppression", "salient_tokens"}) {
            const std::vector<const Analysis*> chosen{findAnalysis(name)};
            QVERIFY(test::failsWith(runAnalyses(circuits, chosen, {}, task), ErrorCode::Cancelled, ""));
        }
    }
};

HEADWISE_TEST(OwnTokensTest)
#include "own_tokens_test.moc"
