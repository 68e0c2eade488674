#include "core/analysis/catalogue.h"
#include "core/analysis/position/rotary_kernel.h"
#include "core/circuits/position_scores.h"
#include "core/model/forward.h"
#include "core/runs/queue.h"

#include "tests/support/analysed.h"
#include "tests/support/program.h"
#include "tests/support/rotation.h"
#include "tests/support/toy_classes.h"

#include <algorithm>
#include <cmath>
#include <numbers>

using namespace headwise;
using test::ToyOptions;

namespace {

const std::string rotaryFolder = "analyses/rotary/";

AnalysisOptions rotaryOptions(std::optional<int> token = std::nullopt)
{
    AnalysisOptions options;
    options.precision = Precision::F64;
    options.inputs.token = token;
    return options;
}

std::vector<std::pair<const char*, ToyOptions>> rotaryClasses()
{
    auto classes = test::toyClasses();
    std::erase_if(classes, [](const auto& entry) {
        return entry.second.positional != "rotary" && entry.second.layout != test::ToyLayout::Llama;
    });
    for (auto& entry : classes)
        entry.second.float64 = true;
    return classes;
}

/// Numbers of one head in [L, H, width].
std::vector<double> rotaryOfHead(const Circuits& circuits, const ResultSet& results, const std::string& name,
                                 HeadId head)
{
    const auto all = test::numbers(results, rotaryFolder + name);
    const ModelConfig& config = circuits.config();
    const std::size_t width = all.size() / (static_cast<std::size_t>(config.nLayers) * config.nHeads);
    const auto at = static_cast<std::ptrdiff_t>(
        (static_cast<std::size_t>(head.layer) * config.nHeads + head.head) * width);
    return {all.begin() + at, all.begin() + at + static_cast<std::ptrdiff_t>(width)};
}

RowVector<double> unitNormed(const Circuits& circuits, int layer, RowVector<double> x)
{
    const auto norm = circuits.weights().ln1<double>(layer);
    if (norm.kind == NormKind::LayerNorm)
        x.array() -= x.mean();
    if (norm.kind != NormKind::None)
        x /= std::sqrt(x.array().square().mean() + norm.eps);
    return x; // folded: no parameters are left
}

double capped(double score, double cap)
{
    return cap > 0 ? cap * std::tanh(score / cap) : score;
}

} // namespace

/// Scores by offset with rotary positions (CONTRACTS.md §5).
class RotaryTest : public QObject {
    Q_OBJECT

private slots:
    void oneFrequencyByHand()
    {
        Rotary rotary;
        rotary.dim = 2;
        RowVector<double> q(3), k(3);
        q << 1, 2, 5;
        k << 3, -1, 0.5;
        const RotaryKernel kernel = rotaryKernel(rotary, q, k, 2);
        QVERIFY(std::abs(kernel.a(0) - 2 * (3 - 2)) < 1e-14);  // 2 · (1·3 + 2·(−1))
        QVERIFY(std::abs(kernel.b(0) - 2 * (-1 - 6)) < 1e-14); // 2 · (1·(−1) − 2·3)
        QVERIFY(std::abs(kernel.constant - 2 * 2.5) < 1e-14);
        QVERIFY(std::abs(kernel.amplitude(0) - 2 * std::sqrt(5.0 * 10.0)) < 1e-12);
        const Eigen::VectorXd scores = RotaryWaves(rotary, 3).scores(kernel); // θ = 1
        for (int offset = 0; offset < 3; ++offset)
            QVERIFY(std::abs(scores(offset) - (5 + 2 * std::cos(offset) - 14 * std::sin(offset))) < 1e-12);
    }

    // Columns of length 2 and 3 at right angles on one side, equal ones on the other.
    void energiesByHand()
    {
        Rotary rotary;
        rotary.dim = 2;
        Matrix<double> W_Q = Matrix<double>::Zero(4, 2), W_K = Matrix<double>::Zero(4, 2);
        W_Q(0, 0) = 2;
        W_Q(1, 1) = 3;
        W_K.row(2) << 1, 1;
        const RotaryEnergies found = rotaryEnergies(rotary, W_Q, W_K);
        QVERIFY(std::abs(found.energy(0) - std::sqrt(13.0)) < 1e-12); // Q Kᵀ has (2 + 3-length) in one column
        QVERIFY(std::abs(found.unaligned(0) - std::sqrt(13.0 * 2 / 2)) < 1e-12);
        QVERIFY(std::abs(found.qCosine(0)) < 1e-12);
        QVERIFY(std::abs(found.kCosine(0) - 1) < 1e-12);
    }

    void everyKernelIsTheRotatedProduct_data()
    {
        QTest::addColumn<int>("index");
        const auto classes = rotaryClasses();
        QVERIFY(classes.size() >= 8);
        for (std::size_t i = 0; i < classes.size(); ++i)
            QTest::newRow(classes[i].first) << static_cast<int>(i);
    }
    void everyKernelIsTheRotatedProduct()
    {
        QFETCH(int, index);
        const Circuits circuits = test::toyCircuits(rotaryClasses()[static_cast<std::size_t>(index)].second);
        const ModelConfig& config = circuits.config();
        AnalysisOptions options = rotaryOptions(3);
        options.inputs.keyToken = 7;
        const ResultSet results = test::analysed(circuits, {"rotary"}, options);
        QCOMPARE(
            std::get<double>(results.find(rotaryFolder + "token_to_key_score")->attributes.at("key_token")),
            7.0);
        const Matrix<double> E = circuits.weights().W_E<double>(0, config.dVocab);
        const RowVector<double> mean = E.colwise().mean();
        for (const HeadId head : {HeadId{0, 1}, HeadId{config.nLayers - 1, config.nHeads - 1}}) {
            const auto h = circuits.weights().head<double>(head);
            const RowVector<double> token = unitNormed(circuits, head.layer, E.row(3));
            const RowVector<double> average = unitNormed(circuits, head.layer, mean);
            const RowVector<double> qToken = token * h.W_Q + h.b_Q, kToken = token * h.W_K + h.b_K;
            const RowVector<double> other = unitNormed(circuits, head.layer, E.row(7)) * h.W_K + h.b_K;
            const RowVector<double> qMean = average * h.W_Q + h.b_Q, kMean = average * h.W_K + h.b_K;
            const Rotary& rotary = config.rotaryOf(head.layer);
            const auto self = rotaryOfHead(circuits, results, "token_score", head);
            const auto toMean = rotaryOfHead(circuits, results, "token_to_mean_score", head);
            const auto ofMean = rotaryOfHead(circuits, results, "mean_token_score", head);
            const auto toKey = rotaryOfHead(circuits, results, "token_to_key_score", head);
            QCOMPARE(self.size(), static_cast<std::size_t>(config.nCtx));
            const auto isScore = [&](double found, const RowVector<double>& q, const RowVector<double>& k,
                                     int offset) {
                const double scale = config.attentionScaleOf(head.layer);
                const double expected =
                    capped((q * test::rotation(rotary, config.dHead, offset)).dot(k) * scale,
                           config.attentionSoftCap);
                return std::abs(found - expected) <= 1e-11 * (1 + q.norm() * k.norm() * scale);
            };
            for (int offset = 0; offset < config.nCtx; ++offset) {
                const auto at = static_cast<std::size_t>(offset);
                QVERIFY(isScore(self[at], qToken, kToken, offset));
                QVERIFY(isScore(toMean[at], qToken, kMean, offset));
                QVERIFY(isScore(ofMean[at], qMean, kMean, offset));
                QVERIFY(isScore(toKey[at], qToken, other, offset));
                if (results.find(rotaryFolder + "bias_score"))
                    QVERIFY(isScore(rotaryOfHead(circuits, results, "bias_score", head)[at], h.b_Q, h.b_K,
                                    offset));
            }
            const RowVector<double> known = offsetScores(circuits.weights(), head, mean, config.nCtx);
            for (int offset = 0; offset < config.nCtx; ++offset)
                QVERIFY(std::abs(known(offset) - ofMean[static_cast<std::size_t>(offset)]) < 1e-11);
        }
    }

    // One query and all keys of a prompt of one token: the attention of the forward pass is the softmax of the kernel.
    void theKernelOfATokenIsTheAttentionOfItsRepetition()
    {
        ToyOptions toy = test::llamaOptions();
        toy.float64 = true;
        const Circuits circuits = test::toyCircuits(toy);
        const ResultSet results = test::analysed(circuits, {"rotary"}, rotaryOptions(5));
        const std::vector<int> prompt(static_cast<std::size_t>(circuits.config().nCtx), 5);
        const auto run = forward<double>(circuits.weights(), prompt, Task{});
        QVERIFY(test::isOk(run));
        const auto scores = rotaryOfHead(circuits, results, "token_score", {0, 4});
        const Eigen::Index last = circuits.config().nCtx - 1;
        double total = 0;
        for (const double score : scores)
            total += std::exp(score);
        for (Eigen::Index key = 0; key <= last; ++key)
            QVERIFY(std::abs(run->patterns[0][4](last, key)
                             - std::exp(scores[static_cast<std::size_t>(last - key)]) / total)
                    < 1e-12);
    }

    void offsetZeroIsTheUnrotatedProductAndOffsetsAreThoseOfTheDenseTable_data()
    {
        everyKernelIsTheRotatedProduct_data();
    }
    void offsetZeroIsTheUnrotatedProductAndOffsetsAreThoseOfTheDenseTable()
    {
        QFETCH(int, index);
        const Circuits circuits = test::toyCircuits(rotaryClasses()[static_cast<std::size_t>(index)].second);
        const ModelConfig& config = circuits.config();
        AnalysisOptions options = rotaryOptions(2);
        options.tableSize = 4;
        options.unusedTokens.assign(static_cast<std::size_t>(config.dVocab), false);
        options.unusedTokens[6] = true;
        const ResultSet results = test::analysed(circuits, {"rotary"}, options);
        const Matrix<double> E = circuits.weights().W_E<double>(0, config.dVocab);
        const auto offsets = test::numbers(results, rotaryFolder + "key_offsets");
        QVERIFY(offsets[0] == 0.0 && offsets.size() >= 5);
        for (int layer = 0; layer < config.nLayers; ++layer) {
            const HeadId head{layer, layer % config.nHeads};
            const auto h = circuits.weights().head<double>(head);
            const auto ids = rotaryOfHead(circuits, results, "key_ids", head);
            const auto values = rotaryOfHead(circuits, results, "key_values", head);
            const auto lowest = rotaryOfHead(circuits, results, "lowest_key_ids", head);
            const auto means = rotaryOfHead(circuits, results, "key_score_null_mean", head);
            for (std::size_t i = 0; i < offsets.size(); ++i) {
                const RowVector<double> row = E.row(2) * h.W_Q
                    * test::rotation(config.rotaryOf(layer), config.dHead, offsets[i]) * h.W_K.transpose()
                    * E.transpose();
                if (i == 0) {
                    const RowVector<double> unrotated =
                        test::denseCircuit(circuits, CircuitKind::FullQk, head).row(2);
                    QVERIFY(test::isClose(row, unrotated, 1e-13));
                }
                const double mean = (row.sum() - row(6)) / static_cast<double>(row.size() - 1);
                QVERIFY(std::abs(means[i] - mean) < 1e-12 * row.norm()); // of the tokens in use
                std::vector<int> order;
                for (int id = 0; id < config.dVocab; ++id)
                    if (id != 6)
                        order.push_back(id);
                std::sort(order.begin(), order.end(), [&](int a, int b) { return row(a) > row(b); });
                for (std::size_t rank = 0; rank < 4; ++rank) {
                    QCOMPARE(static_cast<int>(ids[i * 4 + rank]), order[rank]);
                    QCOMPARE(static_cast<int>(lowest[i * 4 + rank]), order[order.size() - 1 - rank]);
                    QVERIFY(std::abs(values[i * 4 + rank] - row(order[rank])) < 1e-12 * row.norm());
                }
            }
        }
    }

    // Half-split columns rearranged into neighbours: the same head in the other layout.
    void bothLayoutsAgreeAfterPermutation()
    {
        Rotary halves, neighbours;
        halves.dim = neighbours.dim = 6;
        halves.base = neighbours.base = 523;
        neighbours.adjacentPairs = true;
        const Matrix<double> W_Q = Matrix<double>::Random(11, 8), W_K = Matrix<double>::Random(11, 8);
        const std::array<int, 8> source{0, 3, 1, 4, 2, 5, 6, 7};
        const Matrix<double> moved_Q = W_Q(Eigen::all, source), moved_K = W_K(Eigen::all, source);
        const RotaryEnergies one = rotaryEnergies(halves, W_Q, W_K);
        const RotaryEnergies other = rotaryEnergies(neighbours, moved_Q, moved_K);
        QVERIFY(test::isClose(one.energy, other.energy, 1e-14));
        QVERIFY(test::isClose(one.qCosine, other.qCosine, 1e-14));
        for (int m = 0; m < 3; ++m) {
            Matrix<double> Q(11, 2), K(11, 2);
            Q << W_Q.col(m), W_Q.col(m + 3);
            K << W_K.col(m), W_K.col(m + 3);
            QVERIFY(std::abs(one.energy(m) - (Q * K.transpose()).norm()) < 1e-12);
        }
        const RotaryKernel a = rotaryKernel(halves, W_Q.row(0), W_K.row(1), 0.5);
        const RotaryKernel b = rotaryKernel(neighbours, moved_Q.row(0), moved_K.row(1), 0.5);
        QVERIFY(
            test::isClose(RotaryWaves(halves, 40).scores(a), RotaryWaves(neighbours, 40).scores(b), 1e-12));
        const RotaryKernel wrong = rotaryKernel(neighbours, W_Q.row(0), W_K.row(1), 0.5);
        QVERIFY(!test::isClose(wrong.a, a.a, 1e-3));
    }

    void aStretchedRotaryTurnsAsItsFrequenciesSay()
    {
        Rotary rotary;
        rotary.dim = 8;
        rotary.scaling.kind = RotaryScaling::Kind::Linear;
        rotary.scaling.factor = 4;
        rotary.scaling.attentionFactor = 1.5;
        const RowVector<double> q = RowVector<double>::Random(8), k = RowVector<double>::Random(8);
        Rotary plain = rotary;
        plain.scaling = {};
        const Eigen::VectorXd scaled = RotaryWaves(rotary, 33).scores(rotaryKernel(rotary, q, k, 1));
        const Eigen::VectorXd bare = RotaryWaves(plain, 9).scores(rotaryKernel(plain, q, k, 1));
        for (int offset = 0; offset < 9; ++offset)
            QVERIFY(std::abs(scaled(4 * offset) - 2.25 * bare(offset)) < 1e-12);
    }

    void theEnergiesAreTheirNullWherePairsAreUnaligned()
    {
        ToyOptions toy;
        toy.positional = "rotary";
        toy.normalization = "LNPre"; // a norm's factor would weight some components more
        toy.dModel = 211, toy.dHead = 8, toy.nHeads = 20, toy.nLayers = 1;
        const Circuits circuits = test::toyCircuits(toy);
        const ResultSet results = test::analysed(circuits, {"rotary"}, rotaryOptions());
        const auto energy = test::numbers(results, rotaryFolder + "energy");
        const auto null = test::numbers(results, rotaryFolder + "energy_null");
        double ratio = 0;
        for (std::size_t i = 0; i < energy.size(); ++i)
            ratio += energy[i] / null[i] / static_cast<double>(energy.size());
        QVERIFY2(std::abs(ratio - 1) < 0.03, QByteArray::number(ratio));
        const ResultArray* cosine = results.find(rotaryFolder + "query_pair_cosine");
        double squares = 0;
        for (const double value : test::numbers(results, rotaryFolder + "query_pair_cosine"))
            squares += value * value / static_cast<double>(energy.size());
        const double spread = std::sqrt(squares) / *cosine->nullDeviation;
        QVERIFY2(std::abs(spread - 1) < 0.25, QByteArray::number(spread));
    }

    // A rotation within a pair is a gauge freedom of a rotary head, because it rotates q and k alike. The map has the
    // head's energies row by row, layer after layer, with row names.
    void theMapOfEnergiesHasARowForEveryHead()
    {
        const Circuits circuits = test::toyCircuits(test::llamaOptions());
        const ResultSet results = test::analysed(circuits, {"rotary"}, rotaryOptions());
        const ResultArray* map = results.find(rotaryFolder + "energy_of_heads");
        QCOMPARE(map->shape, (std::vector<std::size_t>{12, 2})); // 2 layers of 6 heads, 4 / 2 frequencies
        const auto& names =
            std::get<std::vector<std::string>>(map->attributes.at(map->axes[0].name() + " labels"));
        QCOMPARE(names.at(8), std::string("1.2"));
        const auto rows = test::numbers(results, rotaryFolder + "energy_of_heads");
        const HeadWeights<double> w = circuits.weights().head<double>({1, 2});
        for (int m = 0; m < 2; ++m) { // halves: columns m and m + 2
            const Matrix<double> Q = w.W_Q(Eigen::all, std::array{m, m + 2});
            const Matrix<double> K = w.W_K(Eigen::all, std::array{m, m + 2});
            const double expected = (Q * K.transpose()).norm();
            QVERIFY(std::abs(rows[static_cast<std::size_t>(8 * 2 + m)] - expected) < 1e-12 * expected);
        }
    }

    void aTurnWithinAPairChangesNothing()
    {
        Rotary rotary;
        rotary.dim = 4;
        const RowVector<double> q = RowVector<double>::Random(4), k = RowVector<double>::Random(4);
        const Matrix<double> gauge = test::rotation(rotary, 4, 0.37);
        const RotaryKernel before = rotaryKernel(rotary, q, k, 1);
        const RotaryKernel after = rotaryKernel(rotary, q * gauge, k * gauge, 1);
        QVERIFY(test::isClose(after.a, before.a, 1e-12) && test::isClose(after.b, before.b, 1e-12));
    }

    void anyEmbeddingStandsForTheTokens()
    {
        const Circuits circuits = test::toyCircuits(test::llamaOptions());
        for (const Embedding embedding : {Embedding::Effective, Embedding::Mlp0, Embedding::Unembed}) {
            AnalysisOptions options = rotaryOptions(1);
            options.embedding = embedding;
            const auto tokens = test::tokensOf(circuits, embedding, Precision::F64);
            const ResultSet results = test::analysed(circuits, {"rotary"}, options);
            for (const HeadId head : {HeadId{0, 2}, HeadId{1, 3}}) {
                const Matrix<double> dense = circuits.fullQk<double>(head, *tokens).dense();
                const auto top = rotaryOfHead(circuits, results, "key_values", head);
                QVERIFY(std::abs(top[0] - dense.row(1).maxCoeff()) < 1e-9 * dense.cwiseAbs().maxCoeff());
            }
        }
    }

    void otherModelsAndTokensAreRefused()
    {
        const Analysis* analysis = findAnalysis("rotary");
        QVERIFY(analysis->whyNot(test::toyCircuits({}).config(), {}).find("rotary") != std::string::npos);
        const Circuits circuits = test::toyCircuits(test::llamaOptions());
        QVERIFY(analysis->whyNot(circuits.config(), {}).empty());
        QVERIFY(test::failsWith(runAnalyses(circuits, std::vector{analysis}, rotaryOptions(11), Task{}),
                                ErrorCode::InvalidArgument, "no token 11"));
        AnalysisOptions keyOnly = rotaryOptions();
        keyOnly.inputs.keyToken = 1;
        QVERIFY(test::failsWith(runAnalyses(circuits, std::vector{analysis}, keyOnly, Task{}),
                                ErrorCode::InvalidArgument, "needs a query token"));
        keyOnly.inputs.token = 1, keyOnly.inputs.keyToken = 11;
        QVERIFY(test::failsWith(runAnalyses(circuits, std::vector{analysis}, keyOnly, Task{}),
                                ErrorCode::InvalidArgument, "no token 11"));
        std::stop_source stop;
        stop.request_stop();
        Task task;
        task.stop = stop.get_token();
        QVERIFY(test::failsWith(runAnalyses(circuits, std::vector{analysis}, rotaryOptions(1), task),
                                ErrorCode::Cancelled, "cancelled"));
    }

    void headsNotAskedForAreEmptyAndThreadsChangeNothing()
    {
        const Circuits circuits = test::toyCircuits(test::llamaOptions());
        AnalysisOptions options = rotaryOptions(1);
        Task one, many;
        one.threads = 1, many.threads = 4;
        const ResultSet all = test::analysed(circuits, {"rotary"}, options, one);
        QVERIFY(all == test::analysed(circuits, {"rotary"}, options, many));
        options.heads = {{1, 2}};
        const ResultSet some = test::analysed(circuits, {"rotary"}, options);
        for (const char* name : {"energy", "token_score", "key_values"}) {
            QVERIFY(std::isnan(rotaryOfHead(circuits, some, name, {1, 1})[0]));
            QVERIFY(rotaryOfHead(circuits, some, name, {1, 2}) == rotaryOfHead(circuits, all, name, {1, 2}));
        }
        QCOMPARE(rotaryOfHead(circuits, some, "key_ids", {0, 0})[0], -1.0);
    }
};

HEADWISE_TEST(RotaryTest)
#include "rotary_test.moc"
