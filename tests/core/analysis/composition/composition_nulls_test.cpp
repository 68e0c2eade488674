#include "core/analysis/head_pairs.h"
#include "core/circuits/random_matrix.h"
#include "core/circuits/subspace.h"

#include "tests/support/dense_algebra.h"
#include "tests/support/planted.h"
#include "tests/support/program.h"
#include "tests/support/toy_classes.h"

#include <algorithm>
#include <array>
#include <cmath>

using namespace headwise;

namespace {

double at(const Circuits& circuits, const ResultSet& results, const std::string& path, HeadId earlier,
          HeadId later)
{
    const ModelConfig& config = circuits.config();
    const auto flat = [&](HeadId head) {
        return static_cast<std::size_t>(head.layer * config.nHeads + head.head);
    };
    const auto heads = static_cast<std::size_t>(config.nLayers * config.nHeads);
    return test::numbers(results, path)[flat(earlier) * heads + flat(later)];
}

/// σ²/Σσ² of a dense matrix.
Eigen::VectorXd shares(const Matrix<double>& dense)
{
    const Eigen::VectorXd squares = test::singularValuesOf(dense).array().square();
    return squares / squares.sum();
}

/// Attention only, d_model 48, d_head 5, six random heads a layer.
test::ToyOptions compositionOptions()
{
    test::ToyOptions options = test::plantedOptions();
    options.dModel = 48;
    options.dHead = 5;
    options.nHeads = 6;
    return options;
}

} // namespace

class CompositionNullsTest : public QObject {
    Q_OBJECT

private slots:
    // d = 2: Q_11 = cos of an even angle, cos² has mean ½ and variance ⅛.
    void theOverlapOfTwoDirectionsInAPlane()
    {
        const Moments moments = overlapMoments(1, 1, 2);
        QCOMPARE(moments.mean, 0.5);
        QVERIFY(std::abs(moments.deviation - std::sqrt(1.0 / 8)) < 1e-15);
        // A whole basis overlaps equally with everything.
        QVERIFY(overlapMoments(1, 0.5, 2).deviation < 1e-8);
        QVERIFY(std::isnan(overlapMoments(1, 1, 1).deviation));
    }

    void theMomentsAreThoseOfManyDraws()
    {
        const Eigen::Vector3d a(0.6, 0.3, 0.1);
        const Eigen::Vector4d b(0.7, 0.1, 0.1, 0.1);
        std::vector<double> draws;
        for (std::uint64_t seed = 0; seed < 20000; ++seed)
            draws.push_back(a.dot(randomOverlap(7, 3, 4, seed)->cwiseAbs2() * b));
        const Sample sample(draws);
        const Moments moments = overlapMoments(a.squaredNorm(), b.squaredNorm(), 7);
        QVERIFY(std::abs(sample.mean() - moments.mean) < 4 * moments.deviation / std::sqrt(20000.0));
        QVERIFY(std::abs(sample.deviation() / moments.deviation - 1) < 0.02);
        const auto whole = randomOverlap(6, 6, 6, 3);
        QVERIFY((*whole * whole->transpose()).isIdentity(1e-12));
    }

    void thePairsAgreeWithTheDenseCircuits()
    {
        for (const auto& [name, options] : test::toyClasses()) {
            const Circuits circuits = test::toyCircuits(options);
            const auto results = test::analysed(circuits, {"composition_nulls"}, test::inDouble());
            const double chance =
                Sample(test::numbers(results, "analyses/composition_nulls/gaussian_null")).mean();
            const Sample spectrum(test::numbers(results, "analyses/composition_nulls/spectrum_null"));
            for (const HeadId later : {HeadId{1, 0}, HeadId{1, 2}}) {
                const Matrix<double> ov = test::denseCircuit(circuits, CircuitKind::Ov, {0, 1});
                const Matrix<double> qk2 = test::denseCircuit(circuits, CircuitKind::Qk, later);
                const Matrix<double> ov2 = test::denseCircuit(circuits, CircuitKind::Ov, later);
                const std::array<Matrix<double>, 3> read{qk2, qk2.transpose(), ov2};
                for (std::size_t mode = 0; mode < 3; ++mode) {
                    const std::string path =
                        std::string("analyses/composition_nulls/") + std::array{"q", "k", "v"}[mode];
                    const double score = (ov * read[mode]).norm() / ov.norm() / read[mode].norm();
                    const Moments null = overlapMoments(
                        shares(ov).squaredNorm(), shares(read[mode]).squaredNorm(), circuits.config().dModel);
                    const double z = (score * score - null.mean) / null.deviation;
                    QVERIFY2(
                        std::abs(at(circuits, results, path + "_excess", {0, 1}, later) - (score - chance))
                            < 1e-12,
                        name);
                    QVERIFY2(std::abs(at(circuits, results, path + "_z", {0, 1}, later) - z)
                                 < 1e-7 * (1 + std::abs(z)),
                             name);
                    QVERIFY2(std::abs(at(circuits, results, path + "_percentile", {0, 1}, later)
                                      - spectrum.share(z))
                                 < 0.01,
                             name);
                    QVERIFY(std::isnan(at(circuits, results, path + "_z", later, {0, 1})));
                }
            }
        }
    }

    void gaussianHeadsGetOneOverTheRootOfTheModelsWidth()
    {
        const Circuits circuits = test::toyCircuits(compositionOptions(), test::noProcessing());
        const auto results = test::analysed(circuits, {"composition_nulls"}, test::inDouble());
        const Sample gaussian(test::numbers(results, "analyses/composition_nulls/gaussian_null"));
        QVERIFY(std::abs(gaussian.mean() * std::sqrt(48.0) - 1) < 0.05);
        const Sample spectrum(test::numbers(results, "analyses/composition_nulls/spectrum_null"));
        QVERIFY(std::abs(spectrum.mean()) < 0.25);
        QVERIFY(std::abs(spectrum.deviation() - 1) < 0.25);
        // The heads of this model are random, so their percentiles are uniform.
        for (const char* mode : {"q", "k", "v"}) {
            const Sample found(
                test::numbers(results, std::string("analyses/composition_nulls/") + mode + "_percentile"));
            QCOMPARE(found.size(), std::size_t(36));
            QVERIFY(std::abs(found.mean() - 0.5) < 0.2);
        }
    }

    void thePlantedPairStandsOutAndOrthogonalHeadsAreBelowChance()
    {
        test::PlantedModel model(compositionOptions());
        const Matrix<double> basis = test::orthonormalColumns(48, 20, 2);
        const Matrix<double> shared = basis.middleCols(5, 5);
        model.set("W_O", {0, 1}, shared.transpose());
        model.set("W_K", {1, 0}, shared);
        model.set("W_Q", {1, 0}, basis.middleCols(10, 5));
        const Circuits circuits = model.circuits();
        const auto results = test::analysed(circuits, {"composition_nulls", "composition"}, test::inDouble());
        QVERIFY(at(circuits, results, "analyses/composition_nulls/k_z", {0, 1}, {1, 0}) > 10);
        QVERIFY(at(circuits, results, "analyses/composition_nulls/k_percentile", {0, 1}, {1, 0}) > 0.99);
        QVERIFY(at(circuits, results, "composition/q", {0, 1}, {1, 0}) < 1e-12);
        QVERIFY(at(circuits, results, "analyses/composition_nulls/q_z", {0, 1}, {1, 0}) < -1);
    }

    // Under a cyclic permutation ‖A Bᵀ B Cᵀ‖ would become ‖B Cᵀ A Bᵀ‖, which is 0 for C orthogonal to A.
    void theNormIsNotPermutedCyclically()
    {
        test::PlantedModel model(compositionOptions());
        const Matrix<double> basis = test::orthonormalColumns(48, 15, 3);
        model.set("W_V", {0, 1}, basis.leftCols(5));
        model.set("W_O", {0, 1}, basis.middleCols(5, 5).transpose());
        model.set("W_V", {1, 2}, basis.middleCols(5, 5));
        model.set("W_O", {1, 2}, basis.rightCols(5).transpose());
        const Circuits circuits = model.circuits();
        const auto results = test::analysed(circuits, {"composition"}, test::inDouble());
        QVERIFY(std::abs(at(circuits, results, "composition/v", {0, 1}, {1, 2}) - 1 / std::sqrt(5.0))
                < 1e-12);
    }

    void mediansOfTwoLayers()
    {
        const Circuits circuits = test::toyCircuits({});
        const auto results = test::analysed(circuits, {"composition_nulls", "composition"}, test::inDouble());
        std::vector<double> scores;
        for (int p = 0; p < 3; ++p) {
            for (int i = 0; i < 3; ++i)
                scores.push_back(at(circuits, results, "composition/k", {0, p}, {1, i}));
        }
        std::sort(scores.begin(), scores.end());
        const auto medians = test::numbers(results, "analyses/composition_nulls/k_layer_median");
        QCOMPARE(medians[1], scores[4]);
        QVERIFY(std::isnan(medians[0]) && std::isnan(medians[2]));
    }

    void threadsAndHeadsAskedFor()
    {
        const Circuits circuits = test::toyCircuits(compositionOptions());
        Task alone;
        alone.threads = 1;
        AnalysisOptions options = test::inDouble();
        options.heads = {{0, 0}, {1, 0}};
        const auto results = test::analysed(circuits, {"composition_nulls"}, options);
        const auto again = test::analysed(circuits, {"composition_nulls"}, options, alone);
        for (const char* name : {"spectrum_null", "gaussian_null"})
            QVERIFY(test::numbers(results, std::string("analyses/composition_nulls/") + name)
                    == test::numbers(again, std::string("analyses/composition_nulls/") + name));
        const std::string path = "analyses/composition_nulls/v_z";
        QVERIFY(!std::isnan(at(circuits, results, path, {0, 0}, {1, 0})));
        QVERIFY(std::isnan(at(circuits, results, path, {0, 0}, {1, 1})));
    }

    void oneEndAskedForIsEnoughIfOneSaysSo()
    {
        const Circuits circuits = test::toyCircuits(compositionOptions());
        AnalysisOptions options = test::inDouble();
        const auto all = test::analysed(circuits, {"composition_nulls", "projection_kernel"}, options);
        options.heads = {{1, 0}};
        options.oneEndIsEnough = true;
        const auto some = test::analysed(circuits, {"composition_nulls", "projection_kernel"}, options);
        for (const std::string path : {"analyses/composition_nulls/v_z", "analyses/projection_kernel/o_v"}) {
            for (const HeadId later : {HeadId{1, 0}, HeadId{1, 1}}) {
                const double found = at(circuits, some, path, {0, 1}, later);
                QCOMPARE(std::isnan(found), later.head == 1);
                if (later.head == 0)
                    QCOMPARE(found, at(circuits, all, path, {0, 1}, later));
            }
        }
    }

    void oneLayerDoesNotCompose()
    {
        test::ToyOptions options;
        options.nLayers = 1;
        for (const char* name : {"composition_nulls", "projection_kernel"}) {
            const auto results = test::analysed(test::toyCircuits(options), {name});
            QVERIFY(results.arrays.empty());
            QVERIFY(results.warnings.at(0).find("one") != std::string::npos);
        }
    }
};

HEADWISE_TEST(CompositionNullsTest)
#include "composition_nulls_test.moc"
