#include "core/circuits/position_scores.h"
#include "core/circuits/spectrum.h"

#include "tests/support/planted_tokens.h"
#include "tests/support/program.h"

#include <cmath>
#include <random>

using namespace headwise;
using test::orthonormalColumns;
using test::PlantedModel;

namespace {

/// Returns one entry of an array [n_layers, n_heads, n_layers, n_heads].
double ofPair(const Circuits& circuits, const ResultSet& results, const std::string& path, HeadId earlier,
              HeadId later)
{
    const int heads = circuits.config().nHeads;
    const auto index = [&](HeadId head) { return static_cast<std::size_t>(head.layer * heads + head.head); };
    const auto count = static_cast<std::size_t>(circuits.config().nLayers * heads);
    return test::numbers(results, path)[index(earlier) * count + index(later)];
}

double score(const Circuits& circuits, const char* mode, HeadId earlier, HeadId later)
{
    const auto results = test::analysed(circuits, {"composition"}, test::inDouble());
    return ofPair(circuits, results, std::string("composition/") + mode, earlier, later);
}

} // namespace

/// Models whose answers are known on paper.
class PlantedTest : public QObject {
    Q_OBJECT

private slots:
    // W_U W_E = 1, so that W_V W_O is full OV's whole spectrum: U Uᵀ, −U Uᵀ and U rotated by 90°.
    void aCopierASuppressorAndARotation()
    {
        constexpr int d = 24, r = 4, V = 29;
        PlantedModel model(test::plantedSizes(d, r, V));
        const Matrix<double> E = orthonormalColumns(V, d, 5);
        model.set("embed.W_E", E);
        model.set("unembed.W_U", E.transpose());
        const Matrix<double> U = orthonormalColumns(d, r, 1);
        Matrix<double> quarterTurn = Matrix<double>::Zero(r, r);
        quarterTurn(0, 1) = quarterTurn(2, 3) = 1;
        quarterTurn(1, 0) = quarterTurn(3, 2) = -1;
        for (int head = 0; head < 4; ++head)
            model.set("W_V", {head / 2, head % 2}, U);
        model.set("W_O", {0, 0}, U.transpose());
        model.set("W_O", {0, 1}, -U.transpose());
        model.set("W_O", {1, 0}, quarterTurn * U.transpose());
        model.set("W_O", {1, 1}, Matrix<double>::Zero(r, d));
        const auto results = test::analysed(model.circuits(), {"copying", "eigenvalues"}, test::inDouble());
        const auto copying = test::numbers(results, "scores/copying");
        QVERIFY(std::abs(copying[0] - 1) < 1e-12);
        QVERIFY(std::abs(copying[1] + 1) < 1e-12);
        QVERIFY(std::abs(copying[2]) < 1e-12);
        QVERIFY(std::isnan(copying[3])); // a zero head neither copies nor suppresses
        const auto& all =
            std::get<std::vector<std::complex<double>>>(results.find("eigenvalues/full_ov")->values);
        double positive = 0;
        for (std::size_t i = 0; i < 4; ++i) {
            QVERIFY(std::abs(all[i] - 1.0) < 1e-12);
            QVERIFY(std::abs(all[4 + i] + 1.0) < 1e-12);
            QVERIFY(std::abs(all[8 + i].real()) < 1e-12 && std::abs(std::abs(all[8 + i].imag()) - 1) < 1e-12);
            positive += all[8 + i].imag() > 0 ? 1 : 0;
        }
        QCOMPARE(positive, 2.0); // i twice, −i twice
        QVERIFY(std::isnan(positivity(std::vector<std::complex<double>>(3))));
    }

    // W_pos = (cos ωi, sin ωi) for two frequencies, W_Q W_Kᵀ = the turn by one step: s_ij = Σ cos ω(i − j − 1).
    void aPreviousTokenHeadOfSinusoids()
    {
        constexpr int n = 40;
        const std::array<double, 2> frequencies{2.4, 0.7};
        Matrix<double> scores(n, n); // column = query
        for (int i = 0; i < n; ++i) {
            for (int j = 0; j < n; ++j) {
                scores(j, i) = 0;
                for (const double omega : frequencies)
                    scores(j, i) += 30 * std::cos(omega * (i - j - 1));
            }
        }
        QVERIFY(previousTokenScore(scores) > 0.99);
        RowVector<double> byOffset(n);
        for (int offset = 0; offset < n; ++offset)
            byOffset(offset) = scores(0, offset);
        QVERIFY(std::abs(previousTokenScore(byOffset) - previousTokenScore(scores)) < 1e-12);
        const Matrix<double> even = Matrix<double>::Zero(n, n);
        double expected = 0; // uniform attention: 1/(i+1) on every key
        for (int i = 1; i < n; ++i)
            expected += 1.0 / (i + 1) / (n - 1);
        QVERIFY(std::abs(previousTokenScore(even) - expected) < 1e-12);
        QVERIFY(std::isnan(previousTokenScore(Matrix<double>(Matrix<double>::Zero(1, 1)))));
    }

    void aKCompositionPair()
    {
        PlantedModel model(test::plantedSizes(24, 5, 11));
        const Matrix<double> basis =
            orthonormalColumns(24, 20, 2); // four subspaces of five dimensions, orthogonal to each other
        const Matrix<double> read = basis.leftCols(5), shared = basis.middleCols(5, 5),
                             query = basis.middleCols(10, 5), out = basis.rightCols(5);
        model.set("W_V", {0, 1}, read);
        model.set("W_O", {0, 1}, shared.transpose());
        model.set("W_K", {1, 0}, shared);
        model.set("W_Q", {1, 0}, query);
        model.set("W_V", {1, 0}, out);
        const Circuits circuits = model.circuits();
        // W_V W_O W_K W_Qᵀ = read · queryᵀ: norm √5 over √5 · √5.
        QVERIFY(std::abs(score(circuits, "k", {0, 1}, {1, 0}) - 1 / std::sqrt(5.0)) < 1e-12);
        QVERIFY(score(circuits, "q", {0, 1}, {1, 0}) < 1e-12);
        QVERIFY(score(circuits, "v", {0, 1}, {1, 0}) < 1e-12);
    }

    // W_O of an earlier head is W_Kᵀ of a later one, everything else is random. K reaches the bound σ₁/‖·‖_F = 1/√r of
    // flat spectra, and the kernel r. Q, V and the K of all other pairs are at the null 1/√d.
    void aKCompositionPairAmongRandomHeads()
    {
        constexpr int d = 96, r = 5, heads = 4;
        test::ToyOptions sizes = test::plantedSizes(d, r, 11);
        sizes.nHeads = heads;
        PlantedModel model(sizes);
        for (int i = 0; i < 2 * heads; ++i) {
            const HeadId head{i / heads, i % heads};
            const auto seed = static_cast<unsigned>(10 * i);
            model.set("W_Q", head, orthonormalColumns(d, r, seed + 1));
            model.set("W_K", head, orthonormalColumns(d, r, seed + 2));
            model.set("W_V", head, orthonormalColumns(d, r, seed + 3));
            model.set("W_O", head, orthonormalColumns(d, r, seed + 4).transpose());
        }
        const HeadId earlier{0, 1}, later{1, 2};
        model.set("W_O", earlier, orthonormalColumns(d, r, 10 * 6 + 2).transpose()); // W_K of head 6, L1H2
        const Circuits circuits = model.circuits();
        const auto results = test::analysed(circuits, {"composition", "projection_kernel"}, test::inDouble());
        const double bound = 1 / std::sqrt(static_cast<double>(r));
        QVERIFY(std::abs(ofPair(circuits, results, "composition/k", earlier, later) - bound) < 1e-12);
        QVERIFY(std::abs(ofPair(circuits, results, "analyses/projection_kernel/o_k", earlier, later) - r)
                < 1e-12);
        const double null = 1 / std::sqrt(static_cast<double>(d));
        const double spread = null / r / std::sqrt(2.0); // of √χ²(r²) / (r √d)
        for (const char* mode : {"q", "k", "v"}) {
            const std::string path = std::string("composition/") + mode;
            double mean = 0;
            int pairs = 0;
            for (int i = 0; i < heads * heads; ++i) {
                const HeadId first{0, i / heads}, second{1, i % heads};
                if (mode == std::string("k") && first == earlier && second == later)
                    continue;
                const double found = ofPair(circuits, results, path, first, second);
                QVERIFY2(std::abs(found - null) < 4 * spread, mode);
                mean += found;
                ++pairs;
            }
            QVERIFY2(std::abs(mean / pairs - null) < 4 * spread / std::sqrt(static_cast<double>(pairs)),
                     mode);
        }
    }

    void aZeroHeadHasZeroSpectraAndNoScores()
    {
        PlantedModel model(test::plantedSizes(24, 5, 11));
        model.set("W_O", {0, 0}, Matrix<double>::Zero(5, 24));
        const Circuits circuits = model.circuits();
        const AnalysisOptions options = test::inDouble();
        const auto results = test::analysed(circuits, {"spectra", "copying", "composition"}, options);
        for (const char* kind : {"ov", "full_ov"}) {
            const std::string folder = std::string("spectra/") + kind + "/";
            for (int i = 0; i < 5; ++i)
                QCOMPARE(test::numbers(results, folder + "singular_values")[static_cast<std::size_t>(i)],
                         0.0);
            QCOMPARE(test::numbers(results, folder + "frobenius_norm")[0], 0.0);
            QVERIFY(std::isnan(test::numbers(results, folder + "effective_rank")[0]));
            QVERIFY(!std::isnan(test::numbers(results, folder + "effective_rank")[1]));
        }
        QVERIFY(std::isnan(test::numbers(results, "scores/copying")[0]));
        QVERIFY(std::isnan(score(circuits, "v", {0, 0}, {1, 1})));
        QVERIFY(!std::isnan(score(circuits, "v", {0, 1}, {1, 1})));
    }

    void anEqualPairOfSingularValuesIsFoundAsSuch()
    {
        PlantedModel model(test::plantedSizes(24, 5, 11));
        const Matrix<double> basis = orthonormalColumns(24, 10, 3);
        const Eigen::VectorXd sigma = (Eigen::VectorXd(5) << 4, 2, 2, 1e-3, 1e-9).finished();
        model.set("W_V", {1, 1}, basis.leftCols(5) * sigma.asDiagonal());
        model.set("W_O", {1, 1}, basis.rightCols(5).transpose());
        const Circuits circuits = model.circuits();
        const AnalysisOptions options = test::inDouble();
        const auto all =
            test::numbers(test::analysed(circuits, {"spectra"}, options), "spectra/ov/singular_values");
        const Eigen::Map<const Eigen::VectorXd> found(all.data() + 3 * 5, 5);
        QVERIFY(test::isClose(found, sigma, 1e-6));
        const auto exact = circuits.ov({1, 1}).singularValues();
        for (std::size_t i = 0; i < 5; ++i)
            QVERIFY(std::abs((*exact)[i] - sigma(static_cast<Eigen::Index>(i))) < 1e-14 * 4);
    }

    // Factors that nearly cancel: Gram products alone would lose every digit of the small product.
    void aProductMuchSmallerThanItsFactorsKeepsItsDigits()
    {
        PlantedModel model(test::plantedSizes(24, 5, 11));
        const Matrix<double> basis = orthonormalColumns(24, 15, 4);
        Matrix<double> left = 1e4 * basis.leftCols(5);
        left.col(0) = 1e-4 * basis.col(0);
        Matrix<double> right = 1e-6 * basis.middleCols(5, 5).transpose();
        right.row(0) = 1e3 * basis.col(10).transpose();
        model.set("W_V", {0, 1}, left);
        model.set("W_O", {0, 1}, right);
        const Circuits circuits = model.circuits();
        const AnalysisOptions options = test::inDouble();
        const auto all =
            test::numbers(test::analysed(circuits, {"spectra"}, options), "spectra/ov/singular_values");
        const Eigen::VectorXd expected = (Eigen::VectorXd(5) << 0.1, 0.01, 0.01, 0.01, 0.01).finished();
        const Eigen::Map<const Eigen::VectorXd> found(all.data() + 5, 5);
        QVERIFY(test::isClose(found, expected, 1e-5));
    }
};

HEADWISE_TEST(PlantedTest)
#include "planted_test.moc"
