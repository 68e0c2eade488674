#include "core/circuits/mlp_tokens.h"

#include "core/model/forward.h"
#include "tests/core/analysis/spectra/dense_directions.h"
#include "tests/support/changed_toy.h"
#include "tests/support/dense_algebra.h"
#include "tests/support/program.h"
#include "tests/support/toy_classes.h"

#include <algorithm>
#include <cmath>
#include <set>

using namespace headwise;
using test::ChangedToy;

namespace {

/// The residual stream after layer 0 for every token as a prompt of its own, with MLP 0 writing nothing: its input.
Matrix<double> withoutMlp0(const test::ToyOptions& options)
{
    ChangedToy silent(options);
    for (const char* name : {"blocks.0.mlp.W_out", "blocks.0.mlp.b_out"}) {
        const bool isBias = std::string(name).ends_with("b_out");
        if (!isBias || options.mlpBias)
            silent.set(name, 0, Matrix<double>::Zero(isBias ? 1 : options.dMlp, options.dModel));
    }
    const Circuits circuits = silent.circuits();
    Matrix<double> rows(options.dVocab, options.dModel);
    for (int token = 0; token < options.dVocab; ++token) {
        const std::vector<int> prompt{token};
        rows.row(token) = forward<double>(circuits.weights(), prompt, Task{})->residuals[1].row(0);
    }
    return rows;
}

AnalysisOptions optionsOf(Embedding embedding)
{
    AnalysisOptions options;
    options.embedding = embedding;
    options.precision = Precision::F64;
    options.tableSize = 4;
    return options;
}

/// Tells whether the list at `first` has the tokens with the largest scores.
bool lists(const ResultSet& results, const std::string& path, std::size_t first,
           const Eigen::VectorXd& scores)
{
    const std::vector<int> order = test::ranked(scores);
    const auto ids = test::numbers(results, "analyses/" + path + "_ids");
    const auto values = test::numbers(results, "analyses/" + path + "_values");
    for (std::size_t rank = 0; rank < 4; ++rank) {
        if (ids[first * 4 + rank] != order[rank]
            || !(std::abs(values[first * 4 + rank] - scores(order[rank])) < 1e-9)) {
            qWarning("%s, list %d, rank %d", path.c_str(), int(first), int(rank));
            return false;
        }
    }
    return true;
}

/// Scores of the first singular direction, its sign that of the score of largest magnitude.
Eigen::VectorXd alongFirst(const Matrix<double>& rows, const Matrix<double>& W)
{
    const Eigen::VectorXd scores = rows * test::leftDirections(W).U.col(0);
    return std::abs(scores.minCoeff()) > scores.maxCoeff() ? Eigen::VectorXd(-scores) : scores;
}

} // namespace

/// MLPs read E, except that MLP 0 never reads its own output (CONTRACTS.md §4).
class MlpTokensTest : public QObject {
    Q_OBJECT

private slots:
    void mlp0ReadsTheStreamBeforeIt_data()
    {
        QTest::addColumn<test::ToyOptions>("options");
        test::ToyOptions plain;
        plain.positional = "none"; // so that a prompt of one token is the token alone
        QTest::newRow("one after the other") << plain;
        test::ToyOptions gated = plain;
        gated.gatedMlp = true, gated.normalization = "RMS", gated.activation = "silu";
        gated.mlpBias = false;
        QTest::newRow("gated, RMS") << gated;
    }
    void mlp0ReadsTheStreamBeforeIt()
    {
        QFETCH(test::ToyOptions, options);
        const Circuits circuits = ChangedToy(options).circuits();
        const Matrix<double> W_E = circuits.weights().W_E<double>(0, options.dVocab);
        for (const Precision precision : {Precision::F32, Precision::F64}) {
            const double tolerance = precision == Precision::F64 ? 1e-12 : 1e-5;
            for (const Embedding embedding : {Embedding::Effective, Embedding::Mlp0}) {
                const auto tokens = test::tokensOf(circuits, embedding, precision);
                const auto found = tokensOfMlp(circuits, tokens, 0, Task{}, TokenParts::WithGrams);
                QVERIFY(test::isOk(found));
                const Matrix<double> expected =
                    embedding == Embedding::Effective ? withoutMlp0(options) : W_E;
                const TokenSide& read = **found;
                QVERIFY(test::isClose(*read.E.whole<float>(), expected, 1e-5));
                QVERIFY(test::isClose(read.EtE, expected.transpose() * expected, tolerance));
                QCOMPARE(read.E.isExact(), precision == Precision::F64);
                QVERIFY(test::isClose(*read.E.whole<double>(), expected, tolerance));
                QVERIFY(!test::isClose(*tokens->E.whole<double>(), expected,
                                       0.1));                                // the toy shows the difference
                QCOMPARE(*tokensOfMlp(circuits, tokens, 1, Task{}), tokens); // others read E itself
            }
        }
        for (const Embedding embedding : {Embedding::Raw, Embedding::Unembed}) {
            const auto tokens = test::tokensOf(circuits, embedding);
            QCOMPARE(*tokensOfMlp(circuits, tokens, 0, Task{}), tokens);
        }
    }

    void inParallelBlocksItReadsTheEmbedding()
    {
        test::ToyOptions options;
        options.parallel = true;
        const Circuits circuits = ChangedToy(options).circuits();
        const auto tokens = test::tokensOf(circuits, Embedding::Effective);
        const auto found = tokensOfMlp(circuits, tokens, 0, Task{});
        QVERIFY(test::isOk(found));
        QVERIFY(test::isClose(*(*found)->E.whole<double>(), circuits.weights().W_E<double>(0, options.dVocab),
                              1e-6));
        QVERIFY(mlp0Reads(Embedding::Effective, circuits.config()).ends_with("reads W_E"));
        QVERIFY(mlp0Reads(Embedding::Raw, circuits.config()).empty());
    }

    // The MLPs' directions, their neurons and the neurons beside heads, in both layers.
    void analysesReadMlp0BeforeItWrites_data()
    {
        QTest::addColumn<Embedding>("embedding");
        QTest::newRow("effective") << Embedding::Effective;
        QTest::newRow("mlp0") << Embedding::Mlp0;
    }
    void analysesReadMlp0BeforeItWrites()
    {
        QFETCH(Embedding, embedding);
        test::ToyOptions options;
        options.positional = "none";
        options.gatedMlp = true;
        const Circuits circuits = ChangedToy(options).circuits();
        const auto results = test::analysed(circuits, {"mlp_directions", "weights_in_vocabulary", "neurons"},
                                            optionsOf(embedding));
        const Matrix<double> E = *test::tokensOf(circuits, embedding, Precision::F64)->E.whole<double>();
        const Matrix<double> before = embedding == Embedding::Effective
            ? withoutMlp0(options)
            : circuits.weights().W_E<double>(0, options.dVocab);
        for (const int layer : {0, 1}) {
            const auto mlp = circuits.weights().mlp<double>(layer);
            const Matrix<double>& read = layer == 0 ? before : E;
            const std::size_t direction = layer == 0 ? 0 : 7, neuron = layer == 0 ? 0 : 5;
            QVERIFY(lists(results, "mlp_directions/in", direction, alongFirst(read, mlp.W_in)));
            QVERIFY(lists(results, "mlp_directions/gate", direction, alongFirst(read, mlp.W_gate)));
            for (const char* name : {"W_in", "W_gate"}) {
                const Matrix<double>& W = name == std::string("W_in") ? mlp.W_in : mlp.W_gate;
                const std::string part = "weights_in_vocabulary/" + std::string(name);
                const auto column =
                    static_cast<Eigen::Index>(test::numbers(results, "analyses/" + part + "_column")[neuron]);
                const Matrix<double> inverse = test::pseudoInverseOf(read.transpose());
                QVERIFY(lists(results, part, neuron, read * W.col(column)));
                QVERIFY(lists(results, part + "_pinv", neuron, inverse * W.col(column)));
            }
        }
        // Readers of head 0.0, of both layers.
        const auto layers = test::numbers(results, "analyses/neurons/o_layer");
        const auto indices = test::numbers(results, "analyses/neurons/o_neuron");
        QCOMPARE(std::set<double>(layers.begin(), layers.begin() + 20), (std::set<double>{0, 1}));
        for (std::size_t at = 0; at < 20; ++at) {
            const auto mlp = circuits.weights().mlp<double>(static_cast<int>(layers[at]));
            const auto neuron = static_cast<Eigen::Index>(indices[at]);
            QVERIFY(
                lists(results, "neurons/o_reads", at, (layers[at] == 0 ? before : E) * mlp.W_in.col(neuron)));
            QVERIFY(lists(results, "neurons/o_gates", at,
                          (layers[at] == 0 ? before : E) * mlp.W_gate.col(neuron)));
        }
        const std::string& definition = results.find("analyses/mlp_directions/in_ids")->definition;
        QVERIFY2(definition.find("; MLP 0, whose output is in this E, reads W_E") != std::string::npos,
                 definition.c_str());
    }

    // Random directions use the input of their matrix: for MLP 0 alone, its own input.
    void theNullsOfMlp0AreOfWhatItReads()
    {
        test::ToyOptions options;
        options.nLayers = 1;
        const Circuits circuits = test::toyCircuits(options);
        const auto raw =
            test::analysed(circuits, {"mlp_directions", "weights_in_vocabulary"}, optionsOf(Embedding::Raw));
        const auto mlp0 =
            test::analysed(circuits, {"mlp_directions", "weights_in_vocabulary"}, optionsOf(Embedding::Mlp0));
        for (const char* path : {"mlp_directions/in_null", "mlp_directions/in_ids",
                                 "weights_in_vocabulary/W_in_null", "weights_in_vocabulary/W_in_pinv_null"})
            QCOMPARE(test::numbers(mlp0, std::string("analyses/") + path),
                     test::numbers(raw, std::string("analyses/") + path));
    }
};

HEADWISE_TEST(MlpTokensTest)
#include "mlp_tokens_test.moc"
