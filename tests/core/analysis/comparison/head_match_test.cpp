#include "core/analysis/comparison/head_match.h"

#include "core/circuits/random_matrix.h"
#include "core/tokenizer/tokenizer.h"
#include "tests/support/analysed.h"
#include "tests/support/dense_algebra.h"
#include "tests/support/loaded.h"
#include "tests/support/program.h"
#include "tests/support/toy_model.h"

#include <QTemporaryDir>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

using namespace headwise;

namespace {

constexpr int vocabulary = 31;

using ByRows = Eigen::Matrix<double, -1, -1, Eigen::RowMajor>;

ByRows matrixOf(const test::StoredTensor& tensor, std::size_t index, Eigen::Index rows, Eigen::Index cols)
{
    return Eigen::Map<const ByRows>(tensor.values.data() + static_cast<Eigen::Index>(index) * rows * cols,
                                    rows, cols);
}

void put(test::StoredTensor& tensor, std::size_t index, const ByRows& values)
{
    std::copy_n(values.data(), values.size(),
                tensor.values.begin() + static_cast<std::ptrdiff_t>(index) * values.size());
}

Circuits circuitsIn(const std::filesystem::path& folder)
{
    return Circuits(std::make_shared<const ProcessedWeights>(test::raw(test::loaded(folder))));
}

test::ToyOptions smallOptions()
{
    test::ToyOptions options;
    options.dVocab = vocabulary;
    options.float64 = true;
    return options;
}

/// One layer of six heads in 19 dimensions. Head j does the same as head 5 − j of the small model, counted through both
/// of its layers, in an orthonormal basis of a subspace.
void writeLarger(const test::ToyModel& small, const std::filesystem::path& folder)
{
    test::ToyOptions options = smallOptions();
    options.seed = 5;
    options.dModel = 19;
    options.nHeads = 6;
    options.nLayers = 1;
    test::ToyModel large = test::writeToyModel(folder, options);
    const Eigen::Index d = small.options.dModel, r = small.options.dHead;
    const Eigen::MatrixXd P = test::orthonormalBasis(gaussianMatrix(19, d, 3)).transpose(); // [d, 19]
    put(large.tensors.at("embed.W_E"), 0, matrixOf(small.tensors.at("embed.W_E"), 0, vocabulary, d) * P);
    put(large.tensors.at("unembed.W_U"), 0,
        P.transpose() * matrixOf(small.tensors.at("unembed.W_U"), 0, d, vocabulary));
    for (std::size_t j = 0; j < 6; ++j) {
        const std::size_t from = 5 - j;
        const std::string layer = "blocks." + std::to_string(from / 3) + ".attn.";
        put(large.tensors.at("blocks.0.attn.W_V"), j,
            P.transpose() * matrixOf(small.tensors.at(layer + "W_V"), from % 3, d, r));
        put(large.tensors.at("blocks.0.attn.W_O"), j,
            matrixOf(small.tensors.at(layer + "W_O"), from % 3, r, d) * P);
    }
    test::writeSafetensors(folder / "model.safetensors", large.tensors, true);
}

std::set<int> largestOf(const Matrix<double>& circuit, int row, int k)
{
    std::vector<int> ids(static_cast<std::size_t>(circuit.cols()));
    std::iota(ids.begin(), ids.end(), 0);
    std::sort(ids.begin(), ids.end(), [&](int a, int b) { return circuit(row, a) > circuit(row, b); });
    return {ids.begin(), ids.begin() + k};
}

double jaccardOf(const Matrix<double>& a, const Matrix<double>& b, int k)
{
    double sum = 0;
    for (int t = 0; t < vocabulary; ++t) {
        const std::set<int> first = largestOf(a, t, k), second = largestOf(b, t, k);
        std::vector<int> both;
        std::ranges::set_intersection(first, second, std::back_inserter(both));
        sum += double(both.size()) / double(2 * k - int(both.size()));
    }
    return sum / vocabulary;
}

Matrix<double> fullOv(const Circuits& circuits, HeadId head)
{
    return circuits.fullOv<double>(head, *test::tokensOf(circuits, Embedding::Raw, Precision::F64)).dense();
}

} // namespace

/// Heads of two models of different sizes.
class HeadMatchTest : public QObject {
    Q_OBJECT

private:
    QTemporaryDir m_folder;

    std::filesystem::path folder(const char* name) const
    {
        return std::filesystem::path(m_folder.path().toStdString()) / name;
    }

private slots:
    void aHeadIsFoundInAnotherBasisLayerAndSize()
    {
        writeLarger(test::writeToyModel(folder("small"), smallOptions()), folder("large"));
        const Circuits small = circuitsIn(folder("small")), large = circuitsIn(folder("large"));
        ComparisonOptions options;
        options.precision = Precision::F64;
        options.tableSize = 4;
        const auto results = matchHeads({small, nullptr, {}}, {large, nullptr, {}}, options, Task{});
        QVERIFY(test::isOk(results));
        const auto best = test::numbers(*results, "comparison/match/best");
        const auto& heads =
            std::get<std::vector<std::int32_t>>(results->find("comparison/match/best_head")->values);
        const auto cka = test::numbers(*results, "comparison/match/cka");
        QCOMPARE(best.size(), std::size_t{6});
        for (std::size_t head = 0; head < 6; ++head) {
            QCOMPARE(best[head], 1.0);
            QCOMPARE(heads[2 * head], 0);
            QCOMPARE(heads[2 * head + 1], static_cast<int>(5 - head));
            QVERIFY(std::abs(cka[head * 6 + 5 - head] - 1) < 1e-5); // float32 columns
        }
        QVERIFY(*results->find("comparison/match/best")->nullMean < 0.6);
        QVERIFY(*results->find("comparison/match/best")->nullDeviation > 0);
    }

    void everyPairIsThatOfTheDenseCircuits()
    {
        test::ToyOptions other = smallOptions();
        other.seed = 9;
        other.dModel = 13;
        other.nLayers = 3;
        test::writeToyModel(folder("one"), smallOptions());
        test::writeToyModel(folder("other"), other);
        const Circuits a = circuitsIn(folder("one")), b = circuitsIn(folder("other"));
        ComparisonOptions options;
        options.precision = Precision::F64;
        options.tableSize = 4;
        const auto results = matchHeads({a, nullptr, {}}, {b, nullptr, {}}, options, Task{});
        QVERIFY(test::isOk(results));
        const auto jaccard = test::numbers(*results, "comparison/match/jaccard");
        const auto best = test::numbers(*results, "comparison/match/best");
        QCOMPARE(results->find("comparison/match/jaccard")->shape, (std::vector<std::size_t>{2, 3, 3, 3}));
        for (int i = 0; i < 6; ++i) {
            const Matrix<double> ofA = fullOv(a, {i / 3, i % 3});
            double largest = 0;
            for (int j = 0; j < 9; ++j) {
                const double expected = jaccardOf(ofA, fullOv(b, {j / 3, j % 3}), 4);
                QVERIFY(std::abs(jaccard[static_cast<std::size_t>(i * 9 + j)] - expected) < 1e-12);
                largest = std::max(largest, expected);
            }
            QVERIFY(std::abs(best[static_cast<std::size_t>(i)] - largest) < 1e-12);
        }
    }

    void tokensAreSharedByTheirBytes()
    {
        const auto gpt2 = Tokenizer::open(HEADWISE_TEST_DATA "/tokenizers/gpt2/tokenizer.json");
        const auto demo = Tokenizer::open(HEADWISE_DEMO_MODEL "/tokenizer.json");
        QVERIFY(test::isOk(gpt2) && test::isOk(demo));
        std::vector<bool> unused(static_cast<std::size_t>(demo->size()));
        const int left = *demo->find(" the");
        unused[static_cast<std::size_t>(left)] = true;
        const SharedTokens shared = sharedTokens(*demo, unused, *gpt2, {});
        QVERIFY(shared.size() > 100);
        for (std::size_t i = 0; i < shared.size(); ++i) {
            QCOMPARE(demo->bytes(shared.a[i]), gpt2->bytes(shared.b[i]));
            QVERIFY(shared.a[i] != left);
            QVERIFY(i == 0 || shared.a[i] > shared.a[i - 1]);
        }
        QCOMPARE(std::set<int>(shared.b.begin(), shared.b.end()).size(), shared.size());
    }

    void modelsWithoutCommonTokensAreRefused()
    {
        test::ToyOptions few = smallOptions();
        few.dVocab = 5;
        few.nHeads = 2;
        test::writeToyModel(folder("few"), few);
        const Circuits circuits = circuitsIn(folder("few"));
        QVERIFY(test::failsWith(
            matchHeads({circuits, nullptr, {}}, {circuits, nullptr, {}}, ComparisonOptions(), Task{}),
            ErrorCode::InvalidArgument, "share only 5 tokens"));
        Task cancelled;
        std::stop_source source;
        source.request_stop();
        cancelled.stop = source.get_token();
        test::writeToyModel(folder("enough"), smallOptions());
        const Circuits enough = circuitsIn(folder("enough"));
        QVERIFY(test::failsWith(
            matchHeads({enough, nullptr, {}}, {enough, nullptr, {}}, ComparisonOptions(), cancelled),
            ErrorCode::Cancelled, ""));
    }
};

HEADWISE_TEST(HeadMatchTest)

#include "head_match_test.moc"
