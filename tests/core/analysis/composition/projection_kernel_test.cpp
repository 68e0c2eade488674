#include "core/analysis/head_pairs.h"
#include "core/circuits/subspace.h"

#include "tests/support/dense_algebra.h"
#include "tests/support/planted.h"
#include "tests/support/program.h"
#include "tests/support/toy_classes.h"

#include <cmath>

using namespace headwise;

namespace {

double kernelAt(const Circuits& circuits, const ResultSet& results, const std::string& name, HeadId earlier,
                HeadId later)
{
    const ModelConfig& config = circuits.config();
    const auto flat = [&](HeadId head) {
        return static_cast<std::size_t>(head.layer * config.nHeads + head.head);
    };
    const auto heads = static_cast<std::size_t>(config.nLayers * config.nHeads);
    return test::numbers(results, "analyses/projection_kernel/" + name)[flat(earlier) * heads + flat(later)];
}

/// The projector onto the columns of W, by a decomposition of W Wᵀ.
Matrix<double> kernelProjector(const Matrix<double>& W)
{
    const test::DenseSvd svd(W * W.transpose());
    Matrix<double> sum = Matrix<double>::Zero(W.rows(), W.rows());
    for (Eigen::Index i = 0; i < W.rows() && svd.singularValues()(i) > 1e-10 * svd.singularValues()(0); ++i)
        sum += svd.matrixU().col(i) * svd.matrixU().col(i).transpose();
    return sum;
}

test::ToyOptions kernelOptions(int width = 48, int heads = 2)
{
    test::ToyOptions options = test::plantedOptions();
    options.dModel = width;
    options.dHead = 5;
    options.nHeads = heads;
    return options;
}

} // namespace

class ProjectionKernelTest : public QObject {
    Q_OBJECT

private slots:
    void aSpaceEndsAtItsRank()
    {
        Matrix<double> W = Matrix<double>::Zero(4, 3);
        W.col(0) << 3, 0, 0, 0;
        W.col(1) << 6, 0, 0, 0;
        W.col(2) << 0, 0, -2, 0;
        const auto space = columnSpace(W);
        QCOMPARE(space->rank, Eigen::Index(2));
        QVERIFY((space->basis * space->basis.transpose())
                    .isApprox(Eigen::Vector4d(1, 0, 1, 0).asDiagonal().toDenseMatrix()));
        QCOMPARE(columnSpace(Matrix<double>::Zero(4, 3))->rank, Eigen::Index(0));
        W(1, 1) = std::nan("");
        QVERIFY(test::failsWith(columnSpace(W), ErrorCode::Corrupt, "finite"));
    }

    // ‖U_AᵀU_B‖² = tr(P_A P_B), P the projectors: no basis is needed.
    void kernelsAreTracesOfProjectors()
    {
        for (const auto& [name, options] : test::toyClasses()) {
            const Circuits circuits = test::toyCircuits(options);
            for (const Precision precision : {Precision::F32, Precision::F64}) {
                AnalysisOptions asked;
                asked.precision = precision;
                const auto results = test::analysed(circuits, {"projection_kernel"}, asked);
                const auto first = circuits.weights().head<double>({0, 1});
                const auto later = circuits.weights().head<double>({1, 2});
                const Matrix<double> out = kernelProjector(first.W_O.transpose());
                const double tolerance = precision == Precision::F64 ? 1e-9 : 1e-5;
                const double expected[]{(out * kernelProjector(later.W_Q)).trace(),
                                        (out * kernelProjector(later.W_K)).trace(),
                                        (out * kernelProjector(later.W_V)).trace()};
                QVERIFY2(std::abs(kernelAt(circuits, results, "o_q", {0, 1}, {1, 2}) - expected[0])
                             < tolerance,
                         name);
                QVERIFY2(std::abs(kernelAt(circuits, results, "o_k", {0, 1}, {1, 2}) - expected[1])
                             < tolerance,
                         name);
                QVERIFY2(std::abs(kernelAt(circuits, results, "o_v", {0, 1}, {1, 2}) - expected[2])
                             < tolerance,
                         name);
                QVERIFY(std::isnan(kernelAt(circuits, results, "o_v", {1, 2}, {0, 1})));
            }
        }
    }

    /// Three layers: the middle one both writes and reads, but not to itself.
    void onlyEarlierLayersMeetLaterOnes()
    {
        test::ToyOptions options = kernelOptions();
        options.nLayers = 3;
        const Circuits circuits = test::toyCircuits(options);
        const auto results = test::analysed(circuits, {"projection_kernel"}, test::inDouble());
        for (const char* name : {"o_q", "o_k", "o_v"}) {
            for (int earlier = 0; earlier < 3; ++earlier) {
                for (int later = 0; later < 3; ++later) {
                    const double kernel = kernelAt(circuits, results, name, {earlier, 0}, {later, 1});
                    QCOMPARE(std::isnan(kernel), earlier >= later);
                }
            }
        }
    }

    void thePlantedPairSharesItsWholeSpace()
    {
        test::PlantedModel model(kernelOptions());
        const Matrix<double> basis = test::orthonormalColumns(48, 20, 2);
        const Matrix<double> shared = basis.middleCols(5, 5);
        Matrix<double> half = shared; // two of its directions, and three unused ones
        half.rightCols(3) = basis.rightCols(3);
        model.set("W_O", {0, 1}, shared.transpose());
        model.set("W_K", {1, 0},
                  shared * (Matrix<double>::Random(5, 5) + 3 * Matrix<double>::Identity(5, 5)));
        model.set("W_Q", {1, 0}, basis.leftCols(5));
        model.set("W_V", {1, 0}, half);
        const Circuits circuits = model.circuits();
        AnalysisOptions options = test::inDouble();
        options.inputs.pair = {{0, 1}, {1, 0}};
        const auto results = test::analysed(circuits, {"projection_kernel"}, options);
        QVERIFY(std::abs(kernelAt(circuits, results, "o_k", {0, 1}, {1, 0}) - 5) < 1e-12);
        QVERIFY(kernelAt(circuits, results, "o_q", {0, 1}, {1, 0}) < 1e-12);
        QVERIFY(std::abs(kernelAt(circuits, results, "o_v", {0, 1}, {1, 0}) - 2) < 1e-12);
        QVERIFY(kernelAt(circuits, results, "o_k_z", {0, 1}, {1, 0}) > 10);
        QVERIFY(kernelAt(circuits, results, "o_q_z", {0, 1}, {1, 0}) < -1);
        const auto q = test::numbers(results, "analyses/projection_kernel/angles_q");
        const auto v = test::numbers(results, "analyses/projection_kernel/angles_v");
        QCOMPARE(q.size(), std::size_t(5));
        for (std::size_t i = 0; i < 5; ++i) {
            QVERIFY(std::abs(q[i] - 90) < 1e-6);
            QVERIFY(std::abs(v[i] - (i < 2 ? 0 : 90)) < 1e-5); // acos loses half the digits at 1
        }
    }

    void anAngleOfThirtyDegrees()
    {
        test::PlantedModel model(kernelOptions());
        const Matrix<double> basis = test::orthonormalColumns(48, 10, 4);
        model.set("W_O", {0, 0}, basis.leftCols(5).transpose());
        model.set("W_Q", {1, 1}, std::sqrt(0.75) * basis.leftCols(5) + 0.5 * basis.rightCols(5));
        AnalysisOptions options = test::inDouble();
        options.inputs.pair = {{0, 0}, {1, 1}};
        const Circuits circuits = model.circuits();
        const auto results = test::analysed(circuits, {"projection_kernel"}, options);
        for (const double angle : test::numbers(results, "analyses/projection_kernel/angles_q"))
            QVERIFY(std::abs(angle - 30) < 1e-9);
        QVERIFY(std::abs(kernelAt(circuits, results, "o_q", {0, 0}, {1, 1}) - 3.75) < 1e-12);
    }

    void randomSubspacesGetTheirShare()
    {
        const Circuits circuits = test::toyCircuits(kernelOptions(48, 12), test::noProcessing());
        const auto results = test::analysed(circuits, {"projection_kernel"}, test::inDouble());
        for (const char* name : {"o_q", "o_k", "o_v"}) {
            const std::string path = std::string("analyses/projection_kernel/") + name;
            const ResultArray& array = *results.find(path);
            QVERIFY(std::abs(*array.nullMean - 25.0 / 48) < 1e-12);
            const Sample found(test::numbers(results, path));
            QCOMPARE(found.size(), std::size_t(144));
            QVERIFY(std::abs(found.mean() - *array.nullMean) < 5 * *array.nullDeviation / 12);
            QVERIFY(std::abs(found.deviation() / *array.nullDeviation - 1) < 0.3);
            const Sample z(test::numbers(results, path + "_z"));
            QVERIFY(std::abs(z.mean()) < 0.5 && std::abs(z.deviation() - 1) < 0.3);
        }
        const auto pairs = test::numbers(results, "analyses/projection_kernel/pairs_kernel_k");
        QCOMPARE(pairs.size(), std::size_t(144));
        const auto kernels = test::numbers(results, "analyses/projection_kernel/o_k");
        QCOMPARE(pairs[0], kernels[12]); // 0.0 before 1.0
        QCOMPARE(test::numbers(results, "analyses/projection_kernel/pairs_composition_k").size(),
                 pairs.size());
    }

    void coordinatesInsideAHeadAndThreadsDoNotMatter()
    {
        test::PlantedModel model(kernelOptions()), turned(kernelOptions());
        const Circuits circuits = model.circuits();
        Matrix<double> T = test::orthonormalColumns(5, 5, 8);
        T.row(2) *= 4;
        for (const HeadId head : {HeadId{0, 0}, HeadId{1, 1}}) {
            const auto w = circuits.weights().head<double>(head);
            turned.set("W_Q", head, w.W_Q * T);
            turned.set("W_K", head, w.W_K * test::inverseOf(T).transpose());
            turned.set("W_V", head, w.W_V * T);
            turned.set("W_O", head, test::inverseOf(T) * w.W_O);
        }
        Task alone;
        alone.threads = 1;
        const auto results = test::analysed(circuits, {"projection_kernel"}, test::inDouble());
        const Circuits other = turned.circuits();
        const auto same = test::analysed(other, {"projection_kernel"}, test::inDouble(), alone);
        for (const char* name : {"o_q", "o_k", "o_v", "o_q_z"})
            QVERIFY(std::abs(kernelAt(circuits, results, name, {0, 0}, {1, 1})
                             - kernelAt(other, same, name, {0, 0}, {1, 1}))
                    < 1e-10);
    }

    void headsWithoutASpaceAreLeftOut()
    {
        test::PlantedModel model(kernelOptions());
        model.set("W_O", {0, 0}, Matrix<double>::Zero(5, 48));
        model.set("W_K", {1, 1}, Matrix<double>::Constant(48, 5, std::nan("")));
        const Circuits circuits = model.circuits();
        AnalysisOptions options = test::inDouble();
        options.inputs.pair = {{0, 1}, {1, 1}};
        const auto results = test::analysed(circuits, {"projection_kernel"}, options);
        QVERIFY(std::isnan(kernelAt(circuits, results, "o_q", {0, 0}, {1, 0})));
        QVERIFY(std::isnan(kernelAt(circuits, results, "o_k", {0, 1}, {1, 1})));
        QVERIFY(!std::isnan(kernelAt(circuits, results, "o_q", {0, 1}, {1, 1})));
        QVERIFY(results.warnings.at(0).find("NaN or infinite") != std::string::npos);
    }
};

HEADWISE_TEST(ProjectionKernelTest)
#include "projection_kernel_test.moc"
