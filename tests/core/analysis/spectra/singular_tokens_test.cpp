#include "core/circuits/singular_directions.h"

#include "tests/core/analysis/spectra/dense_directions.h"
#include "tests/support/changed_toy.h"
#include "tests/support/dense_algebra.h"
#include "tests/support/program.h"
#include "tests/support/toy_classes.h"

#include <algorithm>
#include <cmath>

using namespace headwise;
using test::ChangedToy;
using test::DenseDirections;
using test::denseDirections;
using test::ranked;

namespace {

constexpr const char* singularTokensFolder = "analyses/singular_tokens/";

AnalysisOptions singularTokensOptions(int k = 5)
{
    AnalysisOptions options;
    options.precision = Precision::F64;
    options.tableSize = k;
    return options;
}

/// Tells whether list k of a head is the head of the ranking of `scores`, at the end that `sign` names.
bool listAgrees(const ResultSet& results, const std::string& side, std::size_t list,
                const Eigen::VectorXd& scores, double sign)
{
    const std::string end = sign > 0 ? "" : "_lowest";
    const auto ids = test::numbers(results, singularTokensFolder + side + end + "_ids");
    const auto values = test::numbers(results, singularTokensFolder + side + end + "_values");
    const std::size_t k = results.find(singularTokensFolder + side + "_ids")->shape.back();
    const std::vector<int> expected = ranked(sign * scores);
    const double size = scores.cwiseAbs().maxCoeff();
    for (std::size_t i = 0; i < k; ++i) {
        if (std::abs(values[list * k + i] - scores(expected[i])) > 1e-9 * size
            || ids[list * k + i] != expected[i]) {
            qWarning("%s list %d rank %d: %g of token %g, expected %g of token %d", side.c_str(), int(list),
                     int(i), values[list * k + i], ids[list * k + i], scores(expected[i]), expected[i]);
            return false;
        }
    }
    return true;
}

bool sameNumbers(const ResultSet& a, const ResultSet& b, const std::string& path, double tolerance)
{
    const auto left = test::numbers(a, path);
    const auto right = test::numbers(b, path);
    for (std::size_t i = 0; i < left.size(); ++i) {
        const bool bothNone = std::isnan(left[i]) && std::isnan(right[i]);
        if (!bothNone && !(std::abs(left[i] - right[i]) <= tolerance * std::max(1.0, std::abs(right[i])))) {
            qWarning("%s [%d]: %g, expected %g", path.c_str(), int(i), left[i], right[i]);
            return false;
        }
    }
    return left.size() == right.size();
}

std::vector<std::string> everyList()
{
    std::vector<std::string> paths;
    for (const DirectionSide& side : directionSides) {
        for (const char* array : {"_ids", "_values", "_lowest_ids", "_lowest_values"})
            paths.push_back(singularTokensFolder + std::string(side.name) + array);
    }
    return paths;
}

} // namespace

class SingularTokensTest : public QObject {
    Q_OBJECT

private slots:
    // W_V W_O = 3 e_1 e_2ᵀ and W_Q W_Kᵀ = 2 e_0 e_4ᵀ: tokens are ranked by single columns of W_E and rows of W_U.
    void readsOneDirectionByHand()
    {
        ChangedToy toy(test::bareAttention());
        const Matrix<double> none = Matrix<double>::Zero(7, 5);
        const auto single = [&](int row, int col, double value) {
            Matrix<double> m = none;
            m(row, col) = value;
            return m;
        };
        toy.set("blocks.0.attn.W_V", 1, single(1, 3, 3));
        toy.set("blocks.0.attn.W_O", 1, single(2, 3, 1).transpose());
        toy.set("blocks.0.attn.W_Q", 1, single(0, 0, 2));
        toy.set("blocks.0.attn.W_K", 1, single(4, 0, -1));
        const Circuits circuits = toy.circuits();
        const auto results = test::analysed(circuits, {"singular_tokens"}, singularTokensOptions());
        const Matrix<double> E = toy.matrix("embed.W_E");
        const Matrix<double> W_U = toy.matrix("unembed.W_U");
        const auto signOf = [](const Eigen::VectorXd& column) {
            return std::abs(column.minCoeff()) > column.maxCoeff() ? -1.0 : 1.0;
        };
        constexpr std::size_t list = 1 * 5; // head 0.1, direction 0
        const double ov = signOf(E.col(1));
        QVERIFY(listAgrees(results, "ov_in", list, ov * E.col(1), 1));
        QVERIFY(listAgrees(results, "ov_in", list, ov * E.col(1), -1));
        QVERIFY(listAgrees(results, "ov_out", list, ov * W_U.row(2).transpose(), 1));
        QVERIFY(listAgrees(results, "ov_out", list, ov * W_U.row(2).transpose(), -1));
        const double qk = signOf(E.col(0));
        QVERIFY(listAgrees(results, "qk_query", list, qk * E.col(0), 1));
        QVERIFY(listAgrees(results, "qk_key", list, -qk * E.col(4), 1));
        QCOMPARE(test::numbers(results, "analyses/singular_tokens/ov_sigma")[list], 3.0);
        QCOMPARE(test::numbers(results, "analyses/singular_tokens/qk_sigma")[list], 2.0);
        QVERIFY(std::abs(test::numbers(results, "analyses/singular_tokens/qk_cosine")[list]) < 1e-14);
        // The null space has no directions: no tokens, no cosine.
        QCOMPARE(test::numbers(results, "analyses/singular_tokens/ov_in_ids")[(list + 1) * 5], -1.0);
        QVERIFY(std::isnan(test::numbers(results, "analyses/singular_tokens/ov_out_values")[(list + 1) * 5]));
        QVERIFY(std::isnan(test::numbers(results, "analyses/singular_tokens/qk_cosine")[list + 1]));
    }

    // The first ten have the marks that the degeneracy analysis gives to all.
    void membersOfBlocksAreMarked()
    {
        const Circuits circuits = test::circuitsOf(test::testData("models/stories260k"));
        const auto results =
            test::analysed(circuits, {"singular_tokens", "degeneracy"}, singularTokensOptions());
        const auto count = static_cast<std::size_t>(circuits.config().dHead);
        const std::size_t listed = std::min<std::size_t>(10, count);
        int shared = 0;
        for (const std::string circuit : {"ov", "qk"}) {
            for (const std::string& name : {circuit + "_block", circuit + "_block_size"}) {
                const auto few = test::numbers(results, singularTokensFolder + name);
                const auto all = test::numbers(results, "analyses/degeneracy/" + name);
                QCOMPARE(few.size() * count, all.size() * listed);
                for (std::size_t i = 0; i < few.size(); ++i)
                    QCOMPARE(few[i], all[i / listed * count + i % listed]);
                shared += name.ends_with("size")
                    ? int(std::ranges::count_if(few, [](double n) { return n > 1; }))
                    : 0;
            }
        }
        QVERIFY(shared > 0);
    }

    // σ 3, 2.99 | 1 | the null space of seven.
    void membersOfBlocksOfMlpsAreMarked()
    {
        ChangedToy toy(test::ToyOptions{});
        Matrix<double> W_in = Matrix<double>::Zero(7, 13);
        W_in(0, 4) = 3, W_in(5, 2) = 2.99, W_in(3, 0) = 1;
        toy.set("blocks.1.mlp.W_in", 0, W_in);
        const auto results = test::analysed(toy.circuits(), {"mlp_directions"}, singularTokensOptions());
        const auto ofLayer1 = [&](const char* name) {
            const auto all = test::numbers(results, std::string("analyses/mlp_directions/in_") + name);
            return std::vector<double>(all.begin() + 7, all.end());
        };
        QCOMPARE(ofLayer1("block"), (std::vector<double>{0, 0, 1, 2, 2, 2, 2}));
        QCOMPARE(ofLayer1("block_size"), (std::vector<double>{2, 2, 1, 4, 4, 4, 4}));
    }

    void agreesWithDenseCircuits_data()
    {
        QTest::addColumn<int>("at");
        const auto classes = test::toyClasses();
        for (std::size_t i = 0; i < classes.size(); i += 2)
            QTest::newRow(classes[i].first) << static_cast<int>(i);
    }
    void agreesWithDenseCircuits()
    {
        QFETCH(int, at);
        const Circuits circuits = test::toyCircuits(test::toyClasses()[static_cast<std::size_t>(at)].second);
        const ModelConfig& config = circuits.config();
        const auto results = test::analysed(circuits, {"singular_tokens"}, singularTokensOptions(4));
        const auto cosine = test::numbers(results, "analyses/singular_tokens/qk_cosine");
        const int width = std::min(10, config.dHead);
        const int count = std::min({width, config.dModel, config.dHead});
        for (const HeadId head : {HeadId{0, 0}, HeadId{config.nLayers - 1, config.nHeads - 1}}) {
            const auto list = static_cast<std::size_t>((head.layer * config.nHeads + head.head) * width);
            for (const CircuitKind kind : {CircuitKind::Ov, CircuitKind::Qk}) {
                const DenseDirections dense = denseDirections(circuits, kind, head);
                const bool isOv = kind == CircuitKind::Ov;
                for (int k = 0; k < count && dense.S(k) > 1e-4 * dense.S(0); ++k) {
                    for (const double sign : {1.0, -1.0}) {
                        const std::size_t one = list + static_cast<std::size_t>(k);
                        QVERIFY(
                            listAgrees(results, isOv ? "ov_in" : "qk_query", one, dense.first.col(k), sign));
                        QVERIFY(
                            listAgrees(results, isOv ? "ov_out" : "qk_key", one, dense.second.col(k), sign));
                    }
                }
            }
            QVERIFY(std::abs(cosine[list] - denseDirections(circuits, CircuitKind::Qk, head).cosine(0))
                    < 1e-9);
        }
    }

    // The written side is V, not its transpose, and both sides share a sign: −W_O swaps only the ends of the written
    // side.
    void turningTheOutputSwapsItsEnds()
    {
        ChangedToy toy(test::bareAttention());
        const auto before = test::analysed(toy.circuits(), {"singular_tokens"}, singularTokensOptions());
        for (int layer = 0; layer < 2; ++layer) {
            for (int head = 0; head < 3; ++head)
                toy.set(ChangedToy::attn(layer, "W_O"), head,
                        -toy.matrix(ChangedToy::attn(layer, "W_O"), head));
        }
        const auto after = test::analysed(toy.circuits(), {"singular_tokens"}, singularTokensOptions());
        QCOMPARE(test::numbers(after, "analyses/singular_tokens/ov_in_ids"),
                 test::numbers(before, "analyses/singular_tokens/ov_in_ids"));
        QCOMPARE(test::numbers(after, "analyses/singular_tokens/ov_out_ids"),
                 test::numbers(before, "analyses/singular_tokens/ov_out_lowest_ids"));
    }

    // W_Q → W_Q T, W_K → W_K T⁻ᵀ, W_V → W_V T, W_O → T⁻¹ W_O change no circuit.
    void doesNotSeeTheGauge()
    {
        ChangedToy toy(test::bareAttention());
        const auto before = test::analysed(toy.circuits(), {"singular_tokens"}, singularTokensOptions());
        const Matrix<double> T = test::normalNumbers(5, 5, 3) + 3 * Matrix<double>::Identity(5, 5);
        for (int layer = 0; layer < 2; ++layer) {
            for (int head = 0; head < 3; ++head) {
                const auto turn = [&](const char* name, auto change) {
                    const std::string tensor = ChangedToy::attn(layer, name);
                    toy.set(tensor, head, change(toy.matrix(tensor, head)));
                };
                const auto onTheRight = [&](const Matrix<double>& m) { return Matrix<double>(m * T); };
                turn("W_Q", onTheRight);
                turn("W_V", onTheRight);
                turn("W_K", [&](const Matrix<double>& m) {
                    return Matrix<double>(m * test::inverseOf(T).transpose());
                });
                turn("W_O", [&](const Matrix<double>& m) { return Matrix<double>(test::inverseOf(T) * m); });
            }
        }
        const auto after = test::analysed(toy.circuits(), {"singular_tokens"}, singularTokensOptions());
        for (const std::string& path : everyList())
            QVERIFY(sameNumbers(after, before, path, 1e-9));
    }

    void isTheSameOnAnyNumberOfThreads()
    {
        const Circuits circuits = test::toyCircuits(test::llamaOptions());
        Task one;
        one.threads = 1;
        Task three;
        three.threads = 3;
        const auto results = test::analysed(circuits, {"singular_tokens"}, {}, one);
        for (const ResultArray& array : test::analysed(circuits, {"singular_tokens"}, {}, three).arrays) {
            if (array.unit == "token")
                QCOMPARE(*results.find(array.path), array);
        }
    }

    void leavesOutOtherHeadsAndUnusedTokens()
    {
        const Circuits circuits = test::toyCircuits({});
        AnalysisOptions options = singularTokensOptions(11);
        options.heads = {{1, 2}};
        options.unusedTokens.assign(11, false);
        options.unusedTokens[4] = true;
        const auto results = test::analysed(circuits, {"singular_tokens"}, options);
        const auto ids = test::numbers(results, "analyses/singular_tokens/ov_out_ids");
        const std::size_t asked = std::size_t(5) * 5 * 11; // lists of the heads before 1.2
        QVERIFY(std::all_of(ids.begin(), ids.begin() + std::ptrdiff_t(asked),
                            [](double id) { return id == -1; }));
        QCOMPARE(std::count(ids.begin(), ids.end(), 4.0), 0);
        QCOMPARE(ids[asked + 10], -1.0); // ten tokens of eleven
        QVERIFY(ids[asked + 9] >= 0);
    }

    void standsBesideWhatRandomDirectionsRead()
    {
        const Circuits circuits = test::toyCircuits({});
        const auto results = test::analysed(circuits, {"singular_tokens"}, singularTokensOptions());
        const auto null = test::numbers(results, "analyses/singular_tokens/ov_in_null");
        QCOMPARE(null.size(), std::size_t(5));
        QVERIFY(std::is_sorted(null.rbegin(), null.rend()) && null[0] > 0);
        const auto E = circuits.weights().W_E<double>(0, 11);
        // One token's score along a random unit direction: ‖E‖_F/√(V d); 32 directions, so within 20 %.
        const double expected = E.norm() / std::sqrt(11.0 * 7.0);
        const double found = *results.find("analyses/singular_tokens/ov_in_values")->nullDeviation;
        QVERIFY(std::abs(found - expected) < 0.2 * expected);
    }
};

HEADWISE_TEST(SingularTokensTest)
#include "singular_tokens_test.moc"
