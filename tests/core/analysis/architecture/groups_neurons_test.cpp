#include "tests/support/dense_algebra.h"
#include "tests/support/group_toys.h"
#include "tests/support/program.h"
#include "tests/support/toy_classes.h"

#include <algorithm>
#include <cmath>
#include <tuple>

using namespace headwise;
using test::ChangedToy;
using test::close;
using test::exactOptions;
using test::found;
using test::grouped;
using test::projector;

namespace {

double cosineOf(const Matrix<double>& a, const Matrix<double>& b)
{
    return a.cwiseProduct(b).sum() / (a.norm() * b.norm());
}

struct Listed {
    double value;
    int layer, index;
};

/// Every neuron before (after: ways o and g, of gates) a head, the best first.
std::vector<Listed> everyNeuron(const Circuits& circuits, HeadId head, char way)
{
    const ModelConfig& config = circuits.config();
    const auto w = circuits.weights().head<double>(head);
    const Matrix<double> P = projector(way == 'q'       ? w.W_Q
                                           : way == 'k' ? w.W_K
                                           : way == 'v' ? w.W_V
                                                        : Matrix<double>(w.W_O.transpose()));
    std::vector<Listed> out;
    for (int layer = 0; layer < config.nLayers; ++layer) {
        const bool isBefore = layer < head.layer;
        const bool isAfter = layer > head.layer || (layer == head.layer && !config.parallelBlocks);
        const bool isOfReaders = way == 'o' || way == 'g';
        if (isOfReaders ? !isAfter : !isBefore)
            continue;
        const auto mlp = circuits.weights().mlp<double>(layer);
        for (int n = 0; n < config.dMlp; ++n) {
            const RowVector<double> x = way == 'o' ? RowVector<double>(mlp.W_in.col(n).transpose())
                : way == 'g'                       ? RowVector<double>(mlp.W_gate.col(n).transpose())
                                                   : RowVector<double>(mlp.W_out.row(n));
            out.push_back({(x * P).squaredNorm() / x.squaredNorm(), layer, n});
        }
    }
    std::stable_sort(out.begin(), out.end(),
                     [](const Listed& a, const Listed& b) { return a.value > b.value; });
    return out;
}

struct Token {
    int id;
    double value;
};

/// Every token with a text by its score, ties to the lower id.
std::vector<Token> byScore(const RowVector<double>& scores, const std::vector<bool>& unused)
{
    std::vector<Token> out;
    for (int id = 0; id < scores.size(); ++id) {
        if (!unused[static_cast<std::size_t>(id)])
            out.push_back({id, scores(id)});
    }
    std::stable_sort(out.begin(), out.end(),
                     [](const Token& a, const Token& b) { return a.value > b.value; });
    return out;
}

/// Tells whether the tokens of the first 13 neurons (all of one MLP) of a head equal those of the dense lines.
/// \param of path of a list of neurons, and index of the head
bool hasDenseTokens(const Circuits& circuits, const ResultSet& results, const AnalysisOptions& options,
                    const std::pair<std::string, int>& of)
{
    const ModelConfig& config = circuits.config();
    const Matrix<double> E = circuits.weights().W_E<double>(0, config.dVocab);
    const Matrix<double> W_U = circuits.weights().W_U<double>(0, config.dVocabOut);
    const auto width = static_cast<std::size_t>(std::min(config.dVocab, options.tableSize));
    const auto first = static_cast<std::size_t>(of.second) * 20;
    bool same = true;
    for (std::size_t at = first; at < first + 13; ++at) {
        const auto mlp =
            circuits.weights().mlp<double>(static_cast<int>(found(results, of.first + "_layer")[at]));
        const auto neuron = static_cast<int>(found(results, of.first + "_neuron")[at]);
        std::vector<std::pair<const char*, std::vector<Token>>> lists{
            {"_writes", byScore(mlp.W_out.row(neuron) * W_U, options.unusedTokens)},
            {"_reads", byScore((E * mlp.W_in.col(neuron)).transpose(), options.unusedTokens)}};
        if (config.gatedMlp)
            lists.emplace_back("_gates",
                               byScore((E * mlp.W_gate.col(neuron)).transpose(), options.unusedTokens));
        for (const auto& [name, expected] : lists) {
            const auto ids = found(results, of.first + name + "_ids");
            const auto values = found(results, of.first + name + "_values");
            same = same && ids.size() == std::size_t(9) * 20 * width;
            for (std::size_t i = 0; same && i < width; ++i) {
                const bool isThere = i < expected.size();
                same = ids[at * width + i] == (isThere ? expected[i].id : -1)
                    && close(values[at * width + i], isThere ? expected[i].value : std::nan(""), 1e-12);
            }
        }
    }
    return same;
}

} // namespace

class GroupsNeuronsTest : public QObject {
    Q_OBJECT

private slots:
    // Queries of group 0: heads 0 and 1 are equal up to their basis, head 2 is orthogonal to both.
    void groupsByHand()
    {
        ChangedToy toy(grouped());
        const Matrix<double> basis = test::orthonormalColumns(13, 10, 1);
        const Matrix<double> turn = test::orthonormalColumns(5, 5, 2);
        toy.set("blocks.0.attn.W_Q", 0, basis.leftCols(5));
        toy.set("blocks.0.attn.W_Q", 1, basis.leftCols(5) * turn);
        toy.set("blocks.0.attn.W_Q", 2, basis.rightCols(5));
        toy.set("blocks.0.attn.W_O", 1, -2 * toy.matrix("blocks.0.attn.W_O", 0));
        const auto results = test::analysed(toy.circuits(), {"groups"}, exactOptions());
        const auto overlap = found(results, "groups/query_overlap"); // [L, 6, 3]
        QVERIFY(close(overlap[0], 5) && close(overlap[1], 5) && close(overlap[2], 0));
        QVERIFY(close(found(results, "groups/mean_query_overlap")[0], 2.5));
        QVERIFY(close(found(results, "groups/mean_query_overlap")[2], 0));
        QVERIFY(close(found(results, "groups/ov_cosine")[0], 1)
                && close(found(results, "groups/ov_cosine")[1], -1));
        QVERIFY(close(found(results, "groups/qk_cosine")[2], 0));
        const auto group = found(results, "groups/group");
        QCOMPARE(std::vector<double>(group.begin(), group.begin() + 6),
                 (std::vector<double>{0, 0, 0, 1, 1, 1}));
    }

    void groupsAgreeWithDenseCircuits_data()
    {
        QTest::addColumn<int>("at");
        const auto classes = test::toyClasses();
        for (std::size_t i = 0; i < classes.size(); ++i) {
            if (classes[i].second.nKvHeads > 0)
                QTest::newRow(classes[i].first) << static_cast<int>(i);
        }
    }
    void groupsAgreeWithDenseCircuits()
    {
        QFETCH(int, at);
        const Circuits circuits = test::toyCircuits(test::toyClasses()[static_cast<std::size_t>(at)].second);
        const ModelConfig& config = circuits.config();
        const auto results = test::analysed(circuits, {"groups"}, exactOptions());
        const int members = config.nHeads / config.nKvHeads;
        for (int layer = 0; layer < config.nLayers; ++layer) {
            double between = 0;
            int pairs = 0;
            for (int i = 0; i < config.nHeads; ++i) {
                const Matrix<double> own = projector(circuits.weights().head<double>({layer, i}).W_Q);
                for (int j = 0; j < config.nHeads; ++j) {
                    const Matrix<double> other = projector(circuits.weights().head<double>({layer, j}).W_Q);
                    const double overlap = own.cwiseProduct(other).sum();
                    if (i / members != j / members) {
                        between += overlap;
                        ++pairs;
                        continue;
                    }
                    const auto at2 =
                        static_cast<std::size_t>((layer * config.nHeads + i) * members + j % members);
                    QVERIFY(close(found(results, "groups/query_overlap")[at2], overlap));
                    for (const CircuitKind kind : {CircuitKind::Qk, CircuitKind::Ov}) {
                        const double expected = cosineOf(test::denseCircuit(circuits, kind, {layer, i}),
                                                         test::denseCircuit(circuits, kind, {layer, j}));
                        const char* name = kind == CircuitKind::Qk ? "groups/qk_cosine" : "groups/ov_cosine";
                        QVERIFY(close(found(results, name)[at2], expected));
                    }
                }
            }
            QVERIFY(close(found(results, "groups/query_overlap_null")[static_cast<std::size_t>(layer)],
                          between / pairs));
        }
    }

    void groupsNullIsThatOfRandomSubspaces()
    {
        test::ToyOptions options = test::bareAttention();
        options.dModel = 40;
        options.dHead = 8;
        options.nHeads = 60;
        options.nKvHeads = 1;
        ChangedToy toy(options);
        for (int head = 0; head < 60; ++head)
            toy.set("blocks.0.attn.W_Q", head, test::normalNumbers(40, 8, static_cast<unsigned>(head)));
        const auto results = test::analysed(toy.circuits(), {"groups"}, exactOptions());
        const ResultArray& array = *results.find("analyses/groups/query_overlap");
        double mean = 0;
        double square = 0;
        int count = 0;
        for (int i = 0; i < 60; ++i) {
            for (int j = 0; j < i; ++j, ++count) {
                const double value =
                    found(results, "groups/query_overlap")[static_cast<std::size_t>(i * 60 + j)];
                mean += value;
                square += value * value;
            }
        }
        mean /= count;
        const double deviation = std::sqrt(square / count - mean * mean);
        QVERIFY(std::abs(mean - *array.nullMean) < 0.02 * mean);
        QVERIFY(std::abs(deviation - *array.nullDeviation) < 0.1 * deviation);
        QVERIFY(std::isnan(found(results, "groups/query_overlap_null")[0])); // one group alone
    }

    void groupsDoNotSeeTheGauge()
    {
        ChangedToy toy(grouped());
        const auto before = test::analysed(toy.circuits(), {"groups"}, exactOptions());
        const Matrix<double> T = test::normalNumbers(5, 5, 3) + 3 * Matrix<double>::Identity(5, 5);
        for (int head = 0; head < 3; ++head) { // group 0 of layer 0 as a whole
            toy.set("blocks.0.attn.W_Q", head, toy.matrix("blocks.0.attn.W_Q", head) * T);
            toy.set("blocks.0.attn.W_O", head, test::inverseOf(T) * toy.matrix("blocks.0.attn.W_O", head));
        }
        toy.set("blocks.0.attn._W_K", 0,
                toy.matrix("blocks.0.attn._W_K", 0) * test::inverseOf(T).transpose());
        toy.set("blocks.0.attn._W_V", 0, toy.matrix("blocks.0.attn._W_V", 0) * T);
        const auto after = test::analysed(toy.circuits(), {"groups"}, exactOptions());
        for (const ResultArray& array : before.arrays) {
            const auto a = test::numbers(after, array.path);
            const auto b = test::numbers(before, array.path);
            for (std::size_t i = 0; i < a.size(); ++i)
                QVERIFY2(close(a[i], b[i], 1e-8), array.path.c_str());
        }
    }

    void groupsSayWhyNot()
    {
        const Circuits circuits = test::toyCircuits({});
        const auto results = test::analysed(circuits, {"groups"});
        QVERIFY(results.arrays.empty());
        QVERIFY(results.warnings.at(0).find("its own keys and values") != std::string::npos);
        AnalysisOptions options = exactOptions();
        options.heads = {{1, 4}};
        const auto one = test::analysed(test::toyCircuits(test::llamaOptions()), {"groups"}, options);
        QVERIFY(std::isnan(found(one, "groups/mean_qk_cosine")[0]));
        QVERIFY(!std::isnan(found(one, "groups/mean_qk_cosine")[10]));
    }

    // Neuron 7 of MLP 0 writes along a column of W_K of head 1.2, neuron 3 of MLP 1 reads what head 0.1 writes.
    void neuronsByHand()
    {
        test::ToyOptions options = test::bareAttention();
        options.attnOnly = false;
        options.mlpBias = false;
        options.dModel = 23;
        ChangedToy toy(options);
        Matrix<double> out = toy.matrix("blocks.0.mlp.W_out");
        out.row(7) = -3 * toy.matrix("blocks.1.attn.W_K", 2).col(4).transpose();
        out.row(2).setZero(); // says nothing, and is in no list
        toy.set("blocks.0.mlp.W_out", 0, out);
        Matrix<double> in = toy.matrix("blocks.1.mlp.W_in");
        in.col(3) = toy.matrix("blocks.0.attn.W_O", 1).row(0).transpose();
        toy.set("blocks.1.mlp.W_in", 0, in);
        const auto results = test::analysed(toy.circuits(), {"neurons"}, exactOptions());
        const std::size_t reader = std::size_t(5) * 20;
        QCOMPARE(found(results, "neurons/k_layer")[reader], 0.0);
        QCOMPARE(found(results, "neurons/k_neuron")[reader], 7.0);
        QVERIFY(close(found(results, "neurons/k_values")[reader], 1));
        QVERIFY(found(results, "neurons/q_values")[reader] < 0.9);
        QCOMPARE(found(results, "neurons/k_neuron")[reader + 12], -1.0); // 13 neurons, one of them silent
        QVERIFY(found(results, "neurons/k_neuron")[reader + 11] >= 0);
        const std::size_t writer = std::size_t(1) * 20;
        QCOMPARE(found(results, "neurons/o_layer")[writer], 1.0);
        QCOMPARE(found(results, "neurons/o_neuron")[writer], 3.0);
        QVERIFY(close(found(results, "neurons/o_values")[writer], 1));
        // Layer 0 has no neurons before it.
        QCOMPARE(found(results, "neurons/v_neuron")[0], -1.0);
        QVERIFY(std::isnan(found(results, "neurons/v_values")[0]));
    }

    // A gated neuron reads two directions: here the gate of one and the up direction of another.
    void gatesAndWhatTheyMultiplyAreToldApart()
    {
        test::ToyOptions options = test::bareAttention();
        options.attnOnly = false, options.mlpBias = false, options.gatedMlp = true;
        options.dModel = 23;
        ChangedToy toy(options);
        const RowVector<double> written = toy.matrix("blocks.0.attn.W_O", 1).row(0);
        Matrix<double> gate = toy.matrix("blocks.1.mlp.W_gate"), in = toy.matrix("blocks.1.mlp.W_in");
        gate.col(3) = written.transpose();
        in.col(8) = -2 * written.transpose();
        toy.set("blocks.1.mlp.W_gate", 0, gate);
        toy.set("blocks.1.mlp.W_in", 0, in);
        const auto results = test::analysed(toy.circuits(), {"neurons"}, exactOptions());
        const std::size_t writer = std::size_t(1) * 20;
        QCOMPARE(found(results, "neurons/o_gate_neuron")[writer], 3.0);
        QVERIFY(close(found(results, "neurons/o_gate_values")[writer], 1));
        QVERIFY(found(results, "neurons/o_gate_values")[writer + 1] < 0.9);
        QCOMPARE(found(results, "neurons/o_neuron")[writer], 8.0);
        QVERIFY(close(found(results, "neurons/o_values")[writer], 1));
        QVERIFY(found(results, "neurons/o_values")[writer + 1] < 0.9);
    }

    void neuronsAgreeWithDenseProjectors_data()
    {
        QTest::addColumn<int>("at");
        const auto classes = test::toyClasses();
        for (std::size_t i = 0; i < classes.size(); ++i) {
            const test::ToyOptions& o = classes[i].second;
            if (!o.attnOnly && o.dHead + 1 < o.dModel)
                QTest::newRow(classes[i].first) << static_cast<int>(i);
        }
    }
    void neuronsAgreeWithDenseProjectors()
    {
        QFETCH(int, at);
        test::ToyOptions options = test::toyClasses()[static_cast<std::size_t>(at)].second;
        options.nLayers = 3;
        const Circuits circuits = test::toyCircuits(options);
        const ModelConfig& config = circuits.config();
        const auto results = test::analysed(circuits, {"neurons"}, exactOptions());
        for (const HeadId head : {HeadId{0, 1}, HeadId{1, 0}, HeadId{2, config.nHeads - 1}}) {
            const auto list = static_cast<std::size_t>(head.layer * config.nHeads + head.head) * 20;
            QCOMPARE(results.find("analyses/neurons/o_gate_values") != nullptr, config.gatedMlp);
            for (const char way : {'q', 'k', 'v', 'o', 'g'}) {
                if (way == 'g' && !config.gatedMlp)
                    continue;
                const std::string path =
                    way == 'g' ? std::string("neurons/o_gate") : std::string("neurons/") + way;
                const auto expected = everyNeuron(circuits, head, way);
                const int next = way != 'o' && way != 'g' ? head.layer - 1
                    : circuits.config().parallelBlocks    ? head.layer + 1
                                                          : head.layer;
                const auto map = found(results, path + "_map");
                const auto width = static_cast<std::size_t>(circuits.config().dMlp);
                const std::size_t row =
                    static_cast<std::size_t>(head.layer * circuits.config().nHeads + head.head) * width;
                const bool hasNext = next >= 0 && next < circuits.config().nLayers;
                QCOMPARE(std::isnan(map[row]), !hasNext);
                for (const Listed& neuron : expected)
                    if (neuron.layer == next)
                        QVERIFY(close(map[row + static_cast<std::size_t>(neuron.index)], neuron.value));
                for (std::size_t rank = 0; rank < 20; ++rank) {
                    const bool isThere = rank < expected.size();
                    const double value = found(results, path + "_values")[list + rank];
                    QVERIFY(close(value, isThere ? expected[rank].value : std::nan("")));
                    const auto neuron = static_cast<int>(found(results, path + "_neuron")[list + rank]);
                    const auto layer = static_cast<int>(found(results, path + "_layer")[list + rank]);
                    QCOMPARE(std::pair(layer, neuron),
                             isThere ? std::pair(expected[rank].layer, expected[rank].index)
                                     : std::pair(-1, -1));
                }
            }
        }
    }

    // Whole lines of E W_in and W_out W_U, sorted; k is cut at the number of tokens there are.
    void neuronsHaveTheTokensOfDenseLines_data()
    {
        QTest::addColumn<bool>("gated");
        QTest::newRow("one direction each") << false;
        QTest::newRow("with gates") << true;
    }
    void neuronsHaveTheTokensOfDenseLines()
    {
        QFETCH(bool, gated);
        test::ToyOptions toy;
        toy.gatedMlp = gated;
        toy.nLayers = 3;
        toy.float64 = true;
        const Circuits circuits = test::toyCircuits(toy);
        AnalysisOptions options = exactOptions();
        options.heads = {{1, 1}, {2, 0}};
        options.unusedTokens.assign(11, false);
        options.unusedTokens[4] = true;
        for (const int k : {3, 40}) {
            options.tableSize = k;
            const auto results = test::analysed(circuits, {"neurons"}, options);
            for (const HeadId head : options.heads) {
                for (const char* way : {"q", "k", "v", "o"})
                    QVERIFY(hasDenseTokens(circuits, results, options,
                                           {std::string("neurons/") + way, head.layer * 3 + head.head}));
            }
            QCOMPARE(found(results, "neurons/q_writes_ids")[0], -1.0); // of a head that was not asked for
            QCOMPARE(results.find("analyses/neurons/q_gates_ids") != nullptr, gated);
            if (gated)
                QVERIFY(hasDenseTokens(circuits, results, options, {"neurons/o_gate", 1 * 3 + 1}));
        }
    }

    void neuronsAreTheSameInFloat32AndOnAnyNumberOfThreads()
    {
        test::ToyOptions options;
        options.nLayers = 3;
        options.dMlp = 301;
        const Circuits circuits = test::toyCircuits(options);
        Task one;
        one.threads = 1;
        AnalysisOptions few;
        few.heads = {{1, 1}, {2, 0}};
        const auto exact = test::analysed(circuits, {"neurons"}, exactOptions());
        const auto rounded = test::analysed(circuits, {"neurons"}, few, one);
        const auto a = found(exact, "neurons/q_values");
        const auto b = found(rounded, "neurons/q_values");
        for (std::size_t i = std::size_t(4) * 20; i < std::size_t(5) * 20; ++i)
            QVERIFY(close(b[i], a[i], 1e-5));
        QVERIFY(std::isnan(b[std::size_t(5) * 20]));
        const ResultArray& values = *exact.find("analyses/neurons/q_values");
        QVERIFY(close(*values.nullMean, 5.0 / 7));
    }

    void neuronsSayWhyNot()
    {
        const auto why = [](const test::ToyOptions& options) {
            const auto results = test::analysed(test::toyCircuits(options), {"neurons"});
            return results.arrays.empty() && results.warnings.size() == 1 ? results.warnings[0]
                                                                          : std::string();
        };
        test::ToyOptions options;
        options.attnOnly = true;
        QVERIFY(why(options).find("no MLPs") != std::string::npos);
        QVERIFY(why(test::llamaOptions()).empty());
        options = {};
        options.nLayers = 1;
        QVERIFY(why(options).empty());
        options.parallel = true;
        QVERIFY(why(options).find("only layer") != std::string::npos);
    }
};

HEADWISE_TEST(GroupsNeuronsTest)
#include "groups_neurons_test.moc"
