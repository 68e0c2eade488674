#include "core/circuits/singular_directions.h"

#include "tests/core/analysis/spectra/dense_directions.h"
#include "tests/support/changed_toy.h"
#include "tests/support/program.h"
#include "tests/support/toy_classes.h"

#include <algorithm>
#include <cmath>

using namespace headwise;
using test::ChangedToy;
using test::numbers;
using test::ranked;

namespace {

AnalysisOptions shapesOptions(int k = 5)
{
    AnalysisOptions options;
    options.precision = Precision::F64;
    options.tableSize = k;
    return options;
}

std::vector<double> shapes(const ResultSet& results, const std::string& name)
{
    return numbers(results, "analyses/spectrum_shapes/" + name);
}

bool areNearNumbers(std::vector<double> found, const std::vector<double>& expected, double tolerance)
{
    for (std::size_t i = 0; i < expected.size(); ++i) {
        if (found.size() != expected.size() || !(std::abs(found[i] - expected[i]) <= tolerance)) {
            qWarning("place %d: %g, expected %g", int(i), found[i], expected[i]);
            return false;
        }
    }
    return true;
}

std::vector<double> segment(const std::vector<double>& all, std::size_t first, std::size_t count)
{
    return {all.begin() + std::ptrdiff_t(first), all.begin() + std::ptrdiff_t(first + count)};
}

/// Orthonormal columns as a diagonal rectangle of `values` would be turned into W_V, W_O.
void setOv(ChangedToy& toy, int layer, int head, const std::vector<double>& sigma)
{
    Matrix<double> read = Matrix<double>::Zero(7, 5), write = Matrix<double>::Zero(5, 7);
    for (std::size_t k = 0; k < sigma.size(); ++k) {
        const auto at = static_cast<Eigen::Index>(k);
        read(at, at) = sigma[k];
        write(at, 6 - at) = 1;
    }
    toy.set(ChangedToy::attn(layer, "W_V"), head, read);
    toy.set(ChangedToy::attn(layer, "W_O"), head, write);
}

} // namespace

/// Shapes of the spectra, and the MLPs' singular directions.
class SpectrumShapesTest : public QObject {
    Q_OBJECT

private slots:
    void shapesByHand()
    {
        ChangedToy toy(test::bareAttention());
        setOv(toy, 0, 0, {4, 2, 2, 1, 0});
        setOv(toy, 0, 1, {3, 3, 0, 0, 0});
        setOv(toy, 0, 2, {0, 0, 0, 0, 0});
        const auto results = test::analysed(toy.circuits(), {"spectrum_shapes"}, shapesOptions());
        const auto normalised = shapes(results, "ov_normalised");
        QVERIFY(areNearNumbers(segment(normalised, 0, 5), {1, 0.5, 0.5, 0.25, 0}, 1e-14));
        QVERIFY(areNearNumbers(segment(normalised, 5, 5), {1, 1, 0, 0, 0}, 1e-14));
        QVERIFY(std::isnan(normalised[10])); // a zero circuit has no shape
        const auto energy = shapes(results, "ov_cumulative");
        QVERIFY(areNearNumbers(segment(energy, 0, 5), {16 / 25.0, 20 / 25.0, 24 / 25.0, 1, 1}, 1e-14));
        QVERIFY(areNearNumbers(segment(energy, 5, 5), {0.5, 1, 1, 1, 1}, 1e-14));
        // All heads of the layer stand at each of them, and their mean leaves the zero circuit out.
        const auto layer = shapes(results, "ov_of_layer");
        for (std::size_t head = 0; head < 3; ++head) {
            QVERIFY(areNearNumbers(segment(layer, head * 15, 10), segment(normalised, 0, 10), 0));
            QVERIFY(std::isnan(layer[head * 15 + 10]));
        }
        QCOMPARE(results.find("analyses/spectrum_shapes/ov_of_layer")->axes,
                 (std::vector<ArrayAxis>{Axis::Layer, Axis::Head, Axis::Member, Axis::SingularValue}));
        QVERIFY(
            areNearNumbers(segment(shapes(results, "ov_by_layer"), 0, 5), {1, 0.75, 0.25, 0.125, 0}, 1e-14));
    }

    void shapesFollowFromTheSingularValues()
    {
        const std::vector<std::string> kinds{"qk", "ov", "full_qk", "full_ov"};
        for (const std::size_t at : {0, 2, 9}) {
            const Circuits circuits = test::toyCircuits(test::toyClasses().at(at).second);
            const auto results = test::analysed(circuits, {"spectra", "spectrum_shapes"}, shapesOptions());
            const auto width = static_cast<std::size_t>(circuits.config().dHead);
            for (const std::string& kind : kinds) {
                const auto sigma = numbers(results, "spectra/" + kind + "/singular_values");
                const auto normalised = shapes(results, kind + "_normalised");
                const auto energy = shapes(results, kind + "_cumulative");
                QCOMPARE(normalised.size(), sigma.size());
                for (std::size_t first = 0; first < sigma.size(); first += width) {
                    double all = 0, sum = 0;
                    for (std::size_t k = 0; k < width; ++k)
                        all += sigma[first + k] * sigma[first + k];
                    for (std::size_t k = 0; k < width; ++k) {
                        sum += sigma[first + k] * sigma[first + k];
                        QVERIFY(std::abs(normalised[first + k] - sigma[first + k] / sigma[first]) < 1e-12);
                        QVERIFY(std::abs(energy[first + k] - sum / all) < 1e-12);
                    }
                }
            }
        }
    }

    // Gaussian heads of these sizes need about 55 of 64 components for 90 % of the energy.
    void theNullIsThatOfGaussianHeads()
    {
        test::ToyOptions options;
        options.attnOnly = true;
        options.dModel = 768;
        options.dHead = 64;
        options.nHeads = 1;
        options.nLayers = 1;
        AnalysisOptions wish = shapesOptions();
        const Circuits circuits = test::toyCircuits(options);
        const auto results = test::analysed(circuits, {"spectrum_shapes"}, wish);
        const auto energy = shapes(results, "cumulative_null");
        QCOMPARE(shapes(results, "normalised_null")[0], 1.0);
        QVERIFY(std::is_sorted(energy.begin(), energy.end()));
        QVERIFY(std::abs(energy.back() - 1) < 1e-12);
        // The first of 64: σ₁²/Σσ² = 1/stable rank = 1/32.5.
        QVERIFY(std::abs(energy[0] - 1 / 32.5) < 0.05 / 32.5);
        wish.inputs.seed = 7;
        QVERIFY(shapes(test::analysed(circuits, {"spectrum_shapes"}, wish), "cumulative_null") != energy);
    }

    void eachFullCircuitHasTheNullOfItsTokens_data()
    {
        QTest::addColumn<int>("kind");
        QTest::newRow("qk, ov") << 0;
        QTest::newRow("full qk") << 2;
        QTest::newRow("full ov") << 3;
    }
    // An embedding with few strong directions leaves random heads few as well; dense products give the number.
    void eachFullCircuitHasTheNullOfItsTokens()
    {
        QFETCH(int, kind);
        test::ToyOptions options = test::bareAttention();
        options.dModel = 29, options.dVocab = 47;
        ChangedToy toy(options);
        Matrix<double> E = test::normalNumbers(47, 29, 1);
        for (Eigen::Index i = 0; i < 29; ++i)
            E.col(i) *= std::pow(0.6, double(i));
        const Matrix<double> W_U = test::normalNumbers(29, 47, 2);
        toy.set("embed.W_E", 0, E);
        toy.set("unembed.W_U", 0, W_U);
        const auto results = test::analysed(toy.circuits(), {"spectrum_shapes"}, shapesOptions());
        constexpr int draws = 200, shown = 8; // at least so many random heads are the mean of
        Matrix<double> normalised(5, draws), energy(5, draws);
        for (int i = 0; i < draws; ++i) {
            const auto seed = static_cast<unsigned>(2 * i);
            Matrix<double> left = test::normalNumbers(29, 5, 100 + seed),
                           right = test::normalNumbers(29, 5, 101 + seed);
            if (kind > 0) {
                left = (E * left).eval();
                right = ((kind == 2 ? E : Matrix<double>(W_U.transpose())) * right).eval();
            }
            const Eigen::VectorXd sigma = test::leftDirections(left * right.transpose()).S.head(5);
            normalised.col(i) = sigma / sigma(0);
            double sum = 0;
            for (Eigen::Index k = 0; k < 5; ++k)
                energy(k, i) = (sum += sigma(k) * sigma(k)) / sigma.squaredNorm();
        }
        const std::string name = kind == 0 ? "" : kind == 2 ? "full_qk_" : "full_ov_";
        for (const auto& [path, expected] :
             {std::pair("normalised_null", &normalised), std::pair("cumulative_null", &energy)}) {
            const auto found = shapes(results, name + path);
            QCOMPARE(found.size(), std::size_t{5});
            for (Eigen::Index k = 0; k < 5; ++k) {
                const double mean = expected->row(k).mean();
                const double deviation = std::sqrt((expected->row(k).array() - mean).square().mean());
                QVERIFY2(std::abs(found[static_cast<std::size_t>(k)] - mean)
                             < 4 * deviation / std::sqrt(double(shown)) + 1e-12,
                         path);
            }
        }
        // Far from one another: what would have stood beside full QK before.
        QVERIFY(shapes(results, "full_qk_normalised_null")[1] < 0.5 * shapes(results, "normalised_null")[1]);
    }

    void mlpDirectionsAgreeWithTheSvd_data()
    {
        QTest::addColumn<int>("at");
        for (const int at : {0, 2, 4, 12})
            QTest::newRow(test::toyClasses()[static_cast<std::size_t>(at)].first) << at;
    }
    void mlpDirectionsAgreeWithTheSvd()
    {
        QFETCH(int, at);
        const Circuits circuits = test::toyCircuits(test::toyClasses()[static_cast<std::size_t>(at)].second);
        const ModelConfig& config = circuits.config();
        const auto results = test::analysed(circuits, {"mlp_directions"}, shapesOptions(4));
        const Matrix<double> E = circuits.weights().W_E<double>(0, config.dVocab);
        const Matrix<double> U = circuits.weights().W_U<double>(0, config.dVocabOut).transpose();
        const auto count = static_cast<std::size_t>(std::min({10, config.dModel, config.dMlp}));
        for (int layer = 0; layer < config.nLayers; ++layer) {
            const MlpWeights<double> mlp = circuits.weights().mlp<double>(layer);
            QVERIFY(agree(results, "in", layer, count, E, mlp.W_in));
            QVERIFY(agree(results, "out", layer, count, U, mlp.W_out.transpose()));
            if (config.gatedMlp)
                QVERIFY(agree(results, "gate", layer, count, E, mlp.W_gate));
        }
        QCOMPARE(results.find("analyses/mlp_directions/gate_ids") != nullptr, config.gatedMlp);
        const auto null = numbers(results, "analyses/mlp_directions/in_null");
        QVERIFY(null.size() == 4 && std::is_sorted(null.rbegin(), null.rend()) && null[0] > 0);
    }

    // W_in = 2 e_3 e_0ᵀ: one direction, whose tokens are ranked by a column of W_E; the null space has none.
    void oneMlpDirectionByHand()
    {
        ChangedToy toy(test::ToyOptions{});
        Matrix<double> W_in = Matrix<double>::Zero(7, 13);
        W_in(3, 0) = 2;
        toy.set("blocks.1.mlp.W_in", 0, W_in);
        const auto results = test::analysed(toy.circuits(), {"mlp_directions"}, shapesOptions());
        const Eigen::VectorXd column = toy.matrix("embed.W_E").col(3);
        const double sign = std::abs(column.minCoeff()) > column.maxCoeff() ? -1 : 1;
        const auto top = ranked(sign * column), bottom = ranked(-sign * column);
        const std::size_t list = std::size_t(7) * 5; // layer 1, direction 0
        for (std::size_t i = 0; i < 5; ++i) {
            QCOMPARE(numbers(results, "analyses/mlp_directions/in_ids")[list + i], double(top[i]));
            QCOMPARE(numbers(results, "analyses/mlp_directions/in_lowest_ids")[list + i], double(bottom[i]));
            QVERIFY(std::abs(numbers(results, "analyses/mlp_directions/in_values")[list + i]
                             - sign * column(top[i]))
                    < 1e-14);
        }
        QCOMPARE(numbers(results, "analyses/mlp_directions/in_ids")[list + 5], -1.0);
        QCOMPARE(numbers(results, "analyses/mlp_directions/in_sigma")[7], 2.0);
    }

    void mlpDirectionsKeepToTheLayersAsked()
    {
        const Circuits circuits = test::toyCircuits({});
        AnalysisOptions options = shapesOptions();
        options.heads = {{1, 0}};
        const auto ids =
            numbers(test::analysed(circuits, {"mlp_directions"}, options), "analyses/mlp_directions/in_ids");
        QVERIFY(std::all_of(ids.begin(), ids.begin() + 35, [](double id) { return id == -1; }));
        // Folding leaves six directions of seven, and the null space has none.
        QVERIFY(std::all_of(ids.begin() + 35, ids.begin() + 65, [](double id) { return id >= 0; }));
        QVERIFY(std::all_of(ids.begin() + 65, ids.end(), [](double id) { return id == -1; }));
        const Analysis* row = findAnalysis("mlp_directions");
        ModelConfig config = circuits.config();
        config.merged = MergePair::QP;
        QVERIFY(row->whyNot(config, {}).find("merged") != std::string::npos);
        config.attentionOnly = true;
        QVERIFY(row->whyNot(config, {}).find("no MLPs") != std::string::npos);
    }

private:
    /// \param W [d, f], whose left singular vectors are looked at \param tokens [V, d]
    static bool agree(const ResultSet& results, const std::string& name, int layer, std::size_t count,
                      const Matrix<double>& tokens, const Matrix<double>& W)
    {
        const std::string path = "analyses/mlp_directions/" + name;
        const test::LeftDirections svd = test::leftDirections(W);
        const auto ids = numbers(results, path + "_ids"), values = numbers(results, path + "_values"),
                   sigma = numbers(results, path + "_sigma");
        const std::size_t k = results.find(path + "_ids")->shape.back();
        for (std::size_t i = 0; i < count && svd.S(static_cast<Eigen::Index>(i)) > 1e-5 * svd.S(0); ++i) {
            const std::size_t list = static_cast<std::size_t>(layer) * count + i;
            if (std::abs(sigma[list] - svd.S(static_cast<Eigen::Index>(i))) > 1e-9 * svd.S(0))
                return false;
            Eigen::VectorXd scores = tokens * svd.U.col(static_cast<Eigen::Index>(i));
            if (std::abs(scores.minCoeff()) > scores.maxCoeff())
                scores = -scores;
            const auto order = ranked(scores);
            for (std::size_t rank = 0; rank < k; ++rank) {
                if (ids[list * k + rank] != order[rank]
                    || std::abs(values[list * k + rank] - scores(order[rank]))
                        > 1e-7 * scores.cwiseAbs().maxCoeff())
                    return false;
            }
        }
        return true;
    }
};

HEADWISE_TEST(SpectrumShapesTest)
#include "spectrum_shapes_test.moc"
