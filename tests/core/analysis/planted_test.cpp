#include "core/analysis/position_scores.h"
#include "core/analysis/spectrum.h"

#include "tests/support/analysed.h"

#include <Eigen/QR>

#include <cmath>
#include <random>

using namespace headwise;

namespace {

/// [rows, cols] with orthonormal columns.
Matrix<double> orthonormal(Eigen::Index rows, Eigen::Index cols, unsigned seed)
{
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    const Matrix<double> m = Matrix<double>::NullaryExpr(rows, cols, [&] { return normal(random); });
    const Eigen::HouseholderQR<Matrix<double>> qr(m);
    return qr.householderQ() * Matrix<double>::Identity(rows, cols);
}

/// A model whose heads are set by hand: attention only, no norms, nothing processed; float64, so that what is planted is read.
class Planted {
public:
    Planted()
    {
        m_options.dModel = 24;
        m_options.dHead = 5;
        m_options.nHeads = 2;
        m_options.attnOnly = true;
        m_options.float64 = true;
        m_options.normalization = std::nullopt;
        m_options.qkvBias = false;
        m_folder = std::filesystem::path(m_temporary.path().toStdString()) / "planted";
        m_tensors = test::writeToyModel(m_folder, m_options).tensors;
    }

    void set(const char* name, HeadId head, const Matrix<double>& values)
    {
        auto& tensor = m_tensors.at("blocks." + std::to_string(head.layer) + ".attn." + name);
        const Eigen::Index at = head.head * values.size();
        for (Eigen::Index i = 0; i < values.rows(); ++i) {
            for (Eigen::Index j = 0; j < values.cols(); ++j)
                tensor.values[static_cast<std::size_t>(at + i * values.cols() + j)] = values(i, j);
        }
    }

    Circuits circuits() const
    {
        test::writeSafetensors(m_folder / "model.safetensors", m_tensors, true);
        return test::circuitsOf(m_folder, test::noProcessing());
    }

private:
    QTemporaryDir m_temporary;
    test::ToyOptions m_options;
    std::filesystem::path m_folder;
    std::map<std::string, test::StoredTensor> m_tensors;
};

double score(const Circuits& circuits, const char* mode, HeadId earlier, HeadId later)
{
    AnalysisOptions options;
    options.precision = Precision::F64;
    const auto results = test::analysed(circuits, {"composition"}, options);
    const auto index = [](HeadId head) { return static_cast<std::size_t>(head.layer * 2 + head.head); };
    return test::numbers(results, std::string("composition/") + mode)[index(earlier) * 4 + index(later)];
}

} // namespace

/// Models whose answers are known on paper (ANALYSES §6).
class PlantedTest : public QObject {
    Q_OBJECT

private slots:
    void aCopierASuppressorAndARotation()
    {
        const Matrix<double> U = orthonormal(20, 4, 1);
        const auto positivityOf = [&](const Matrix<double>& middle) {
            const auto values = FactoredMatrix<double>::create(U * middle, U.transpose())->eigenvalues();
            for (const auto& lambda : *values)
                if (std::abs(std::abs(lambda) - 1) > 1e-12)
                    return std::nan("");
            return positivity(*values);
        };
        QVERIFY(std::abs(positivityOf(Matrix<double>::Identity(4, 4)) - 1) < 1e-12);
        QVERIFY(std::abs(positivityOf(-Matrix<double>::Identity(4, 4)) + 1) < 1e-12);
        Matrix<double> quarterTurn = Matrix<double>::Zero(4, 4);
        quarterTurn(0, 1) = quarterTurn(2, 3) = 1;
        quarterTurn(1, 0) = quarterTurn(3, 2) = -1;
        QVERIFY(std::abs(positivityOf(quarterTurn)) < 1e-12);
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
        double expected = 0; // even attention: 1/(i+1) on every key
        for (int i = 1; i < n; ++i)
            expected += 1.0 / (i + 1) / (n - 1);
        QVERIFY(std::abs(previousTokenScore(even) - expected) < 1e-12);
        QVERIFY(std::isnan(previousTokenScore(Matrix<double>(Matrix<double>::Zero(1, 1)))));
    }

    void aKCompositionPair()
    {
        Planted model;
        const Matrix<double> basis =
            orthonormal(24, 20, 2); // four subspaces of five dimensions, orthogonal to each other
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

    void aZeroHeadHasZeroSpectraAndNoScores()
    {
        Planted model;
        model.set("W_O", {0, 0}, Matrix<double>::Zero(5, 24));
        const Circuits circuits = model.circuits();
        AnalysisOptions options;
        options.precision = Precision::F64;
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
        Planted model;
        const Matrix<double> basis = orthonormal(24, 10, 3);
        const Eigen::VectorXd sigma = (Eigen::VectorXd(5) << 4, 2, 2, 1e-3, 1e-9).finished();
        model.set("W_V", {1, 1}, basis.leftCols(5) * sigma.asDiagonal());
        model.set("W_O", {1, 1}, basis.rightCols(5).transpose());
        const Circuits circuits = model.circuits();
        AnalysisOptions options;
        options.precision = Precision::F64;
        const auto all =
            test::numbers(test::analysed(circuits, {"spectra"}, options), "spectra/ov/singular_values");
        const Eigen::Map<const Eigen::VectorXd> found(all.data() + 3 * 5, 5);
        QVERIFY(test::isClose(found, sigma, 1e-6));
        const auto exact = circuits.ov({1, 1}).singularValues();
        for (std::size_t i = 0; i < 5; ++i)
            QVERIFY(std::abs((*exact)[i] - sigma(static_cast<Eigen::Index>(i))) < 1e-14 * 4);
    }

    // Factors that nearly cancel: the Gram route alone would lose every digit of the small product.
    void aProductMuchSmallerThanItsFactorsKeepsItsDigits()
    {
        Planted model;
        const Matrix<double> basis = orthonormal(24, 15, 4);
        Matrix<double> left = 1e4 * basis.leftCols(5);
        left.col(0) = 1e-4 * basis.col(0);
        Matrix<double> right = 1e-6 * basis.middleCols(5, 5).transpose();
        right.row(0) = 1e3 * basis.col(10).transpose();
        model.set("W_V", {0, 1}, left);
        model.set("W_O", {0, 1}, right);
        const Circuits circuits = model.circuits();
        AnalysisOptions options;
        options.precision = Precision::F64;
        const auto all =
            test::numbers(test::analysed(circuits, {"spectra"}, options), "spectra/ov/singular_values");
        const Eigen::VectorXd expected = (Eigen::VectorXd(5) << 0.1, 0.01, 0.01, 0.01, 0.01).finished();
        const Eigen::Map<const Eigen::VectorXd> found(all.data() + 5, 5);
        QVERIFY(test::isClose(found, expected, 1e-5));
    }

    void aGroupedModelEqualsItsExpansion()
    {
        test::ToyOptions grouped;
        grouped.nHeads = 6;
        grouped.nKvHeads = 2;
        const Circuits circuits = test::toyCircuits(grouped);
        const auto results = test::analysed(circuits, {"spectra"});
        const auto sigma = test::numbers(results, "spectra/qk/singular_values");
        for (int head = 0; head < 6; ++head) {
            const auto w = circuits.weights().head<double>({0, head});
            const auto shared = circuits.weights().head<double>({0, head / 3 * 3});
            QVERIFY(w.W_K == shared.W_K && w.W_V == shared.W_V);
            const auto alone =
                FactoredMatrix<double>::create(w.W_Q, shared.W_K.transpose())->singularValues();
            for (std::size_t i = 0; i < 5; ++i)
                QVERIFY(std::abs(sigma[static_cast<std::size_t>(head) * 5 + i] - (*alone)[i])
                        <= 1e-6 * (*alone)[0]);
        }
    }
};

QTEST_APPLESS_MAIN(PlantedTest)
#include "planted_test.moc"
