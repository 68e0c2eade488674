#include "core/analysis/tokens/relation_questions.h"

#include "tests/support/program.h"

#include "tests/core/analysis/tokens/token_oracles.h"

#include <algorithm>
#include <cmath>
#include <numbers>

using namespace headwise;
using test::numbers;

namespace {

constexpr int nTokens = 61, dModel = 7, dMlp = 13;

/// " w0", " w1", …
std::shared_ptr<const Tokenizer> words(int count)
{
    std::vector<std::string> shown, bytes;
    for (int i = 0; i < count; ++i) {
        shown.push_back("␣w" + std::to_string(i));
        bytes.push_back(" w" + std::to_string(i));
    }
    return std::make_shared<const Tokenizer>(Tokenizer::fromVocabulary(shown, bytes));
}

std::string wordNamed(int id)
{
    return "w" + std::to_string(id);
}

/// The toy's file and its circuits, unprocessed, as in the paper.
struct RawToy {
    std::map<std::string, test::StoredTensor> tensors;
    Circuits circuits;
};

RawToy rawToy()
{
    test::ToyOptions options; // LN, gelu_new, every bias
    options.dVocab = nTokens;
    options.float64 = true;
    const QTemporaryDir temporary;
    const auto folder = std::filesystem::path(temporary.path().toStdString()) / "toy";
    auto tensors = test::writeToyModel(folder, options).tensors;
    return {std::move(tensors), test::circuitsOf(folder, test::noProcessing())};
}

Matrix<double> matrix(const RawToy& toy, const std::string& name, Eigen::Index rows, Eigen::Index cols)
{
    const auto& values = toy.tensors.at(name).values;
    if (static_cast<Eigen::Index>(values.size()) != rows * cols)
        qFatal("%s has another size", name.c_str());
    return Matrix<double>::NullaryExpr(rows, cols, [&](Eigen::Index i, Eigen::Index j) {
        return values[static_cast<std::size_t>(i * cols + j)];
    });
}

/// MLP0(LN2(W_E)) from the numbers of the file alone.
Matrix<double> afterFirstMlp(const RawToy& toy)
{
    Matrix<double> x = matrix(toy, "embed.W_E", nTokens, dModel);
    const std::string block = "blocks.0.";
    for (Eigen::Index i = 0; i < nTokens; ++i) {
        x.row(i).array() -= x.row(i).mean();
        x.row(i) /= std::sqrt(x.row(i).squaredNorm() / dModel + 1e-5);
        x.row(i) = x.row(i).cwiseProduct(matrix(toy, block + "ln2.w", 1, dModel))
            + matrix(toy, block + "ln2.b", 1, dModel);
    }
    Matrix<double> hidden = x * matrix(toy, block + "mlp.W_in", dModel, dMlp);
    hidden.rowwise() += RowVector<double>(matrix(toy, block + "mlp.b_in", 1, dMlp));
    hidden = hidden.unaryExpr([](double z) {
        return 0.5 * z * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (z + 0.044715 * z * z * z)));
    });
    Matrix<double> out = hidden * matrix(toy, block + "mlp.W_out", dMlp, dModel);
    out.rowwise() += RowVector<double>(matrix(toy, block + "mlp.b_out", 1, dModel));
    return out;
}

/// The share of pairs whose target is among the ten largest of its row, by sorting.
double share(const Matrix<double>& logits, const std::vector<std::pair<int, int>>& pairs, double sign)
{
    double hits = 0;
    for (const auto& [source, target] : pairs)
        hits += test::rankIn(logits, source, target, sign) < 10 ? 1 : 0;
    return hits / static_cast<double>(pairs.size());
}

} // namespace

/// Relations and salient operations of Elhelo & Geva 2024, arXiv 2412.11965, in one run with the embedding mlp0.
class MapsTest : public QObject {
    Q_OBJECT

private slots:
    void mapsAppliesTheFirstMlpToLayer0InPartBAlone()
    {
        const RawToy toy = rawToy();
        std::vector<std::pair<int, int>> pairs;
        Relation relation{"some", {}};
        for (int i = 0; i < 50; ++i) {
            pairs.emplace_back(i, (7 * i + 3) % nTokens);
            relation.pairs.emplace_back(wordNamed(pairs.back().first), wordNamed(pairs.back().second));
        }
        AnalysisOptions options = test::exactOptions();
        options.embedding = Embedding::Mlp0;
        options.inputs.tokenizer = words(nTokens);
        options.inputs.relations = {relation};
        const ResultSet results = test::analysed(toy.circuits, {"relations", "salient_tokens"}, options);
        const auto maps = numbers(results, "analyses/relations/maps_scores");
        const auto suppression = numbers(results, "analyses/relations/maps_suppression");
        const auto byHead = numbers(results, "analyses/relations/by_head");
        const auto ids = numbers(results, "analyses/salient_tokens/ids");
        const auto norms = numbers(results, "analyses/salient_tokens/norms");
        const Matrix<double> W_E = matrix(toy, "embed.W_E", nTokens, dModel), mlp0 = afterFirstMlp(toy);
        const Matrix<double> W_U = matrix(toy, "unembed.W_U", dModel, nTokens);
        int different = 0;
        for (const HeadId head : test::headsOf(toy.circuits)) {
            const Matrix<double> ov = test::denseCircuit(toy.circuits, CircuitKind::Ov, head);
            const std::size_t at = test::at(toy.circuits, head);
            // Part (a): layer 0 reads W_E itself.
            const Matrix<double> logits = (head.layer == 0 ? W_E : mlp0) * ov * W_U;
            QCOMPARE(maps[at], share(logits, pairs, 1));
            QCOMPARE(suppression[at], share(logits, pairs, -1));
            QCOMPARE(byHead[at],
                     share(mlp0 * ov * W_U, pairs, 1)); // as --embedding mlp0 says, in every layer
            different += maps[at] == byHead[at] ? 0 : 1;
            // Part (b): the first MLP in layer 0 too.
            const Eigen::VectorXd gains = (mlp0 * ov).rowwise().norm().cwiseQuotient(mlp0.rowwise().norm());
            Eigen::Index best = 0;
            gains.maxCoeff(&best);
            QCOMPARE(ids[at * 30], static_cast<double>(best));
            QVERIFY(std::abs(norms[at * 30] - gains(best)) < 1e-10 * gains(best));
        }
        QVERIFY(different > 0); // the two sources differ in this toy
    }

    void otherEmbeddingsHaveNoScoresOfMaps()
    {
        AnalysisOptions options = test::exactOptions();
        options.inputs.tokenizer = words(11);
        options.inputs.relations = {{"some", {{wordNamed(1), wordNamed(2)}}}};
        const ResultSet results = test::analysed(test::toyCircuits({}), {"relations"}, options);
        QVERIFY(results.find("analyses/relations/by_head"));
        QVERIFY(!results.find("analyses/relations/maps_scores"));
    }

    void headsThatWereLeftOutStayNan()
    {
        const RawToy toy = rawToy();
        AnalysisOptions options = test::exactOptions();
        options.embedding = Embedding::Mlp0;
        options.heads = {{0, 1}};
        options.inputs.tokenizer = words(nTokens);
        options.inputs.relations = {{"some", {{wordNamed(1), wordNamed(2)}}}};
        const auto maps =
            numbers(test::analysed(toy.circuits, {"relations"}, options), "analyses/relations/maps_scores");
        for (std::size_t i = 0; i < maps.size(); ++i)
            QCOMPARE(std::isnan(maps[i]), i != 1);
    }

    // With 128 256 tokens the paper counts 25 of them, and 3 if a word is its own partner.
    void llama3CountsMoreOutputs()
    {
        ModelConfig config;
        config.architecture = "llama";
        config.dVocab = 128256;
        QCOMPARE(standardK(config, false), 25);
        QCOMPARE(standardK(config, true), 3);
        config.dVocab = 32000; // Llama 2
        QCOMPARE(standardK(config, false), 10);
        QCOMPARE(standardK(config, true), 1);
        test::ToyOptions toy = test::llamaOptions();
        toy.nLayers = 1, toy.dVocab = 128256;
        AnalysisOptions options = test::exactOptions();
        options.heads = {{0, 0}};
        options.inputs.tokenizer = words(toy.dVocab);
        options.inputs.relations = {{"copying", {{wordNamed(5), wordNamed(5)}, {wordNamed(6), wordNamed(6)}}},
                                    {"other", {{wordNamed(5), wordNamed(6)}}}};
        const ResultSet results = test::analysed(test::toyCircuits(toy), {"relations"}, options);
        QCOMPARE(numbers(results, "analyses/relations/k"), (std::vector<double>{3, 25}));
        QCOMPARE(numbers(results, "analyses/relations/null")[1], 25.0 / 128256);
    }
};

HEADWISE_TEST(MapsTest)
#include "maps_test.moc"
