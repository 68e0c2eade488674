#include "core/circuits/random_matrix.h"
#include "core/circuits/singular_directions.h"
#include "core/circuits/storage_precision.h"

#include "tests/support/changed_toy.h"
#include "tests/support/dense_algebra.h"
#include "tests/support/program.h"
#include "tests/support/toy_classes.h"

#include <algorithm>
#include <cmath>

using namespace headwise;
using test::ChangedToy;

namespace {

constexpr const char* degeneracyFolder = "analyses/degeneracy/";

AnalysisOptions degeneracyOptions()
{
    AnalysisOptions options;
    options.precision = Precision::F64;
    options.tableSize = 4;
    return options;
}

std::vector<double> degeneracyNumbers(const ResultSet& results, const char* array)
{
    return test::numbers(results, std::string(degeneracyFolder) + array);
}

/// Head 0.0 of a bare model gets W_V W_O = U diag(σ) Vᵀ.
struct Planted {
    ChangedToy toy{options()};
    Matrix<double> U = test::orthonormalColumns(24, 5, 1);
    Matrix<double> V = test::orthonormalColumns(24, 5, 2);

    static test::ToyOptions options()
    {
        test::ToyOptions options = test::bareAttention();
        options.dModel = 24;
        options.dVocab = 40;
        return options;
    }

    /// \param turn [5, 5] orthogonal, between the factors
    Circuits circuits(const Eigen::VectorXd& sigma, const Matrix<double>& turnU, const Matrix<double>& turnV)
    {
        toy.set("blocks.0.attn.W_V", 0, U * turnU * sigma.asDiagonal());
        toy.set("blocks.0.attn.W_O", 0, (V * turnV).transpose());
        return toy.circuits();
    }
};

/// The sine of the largest angle between a direction and a span. \param span [d, n], orthonormal
double sine(const Matrix<double>& vectors, const Matrix<double>& span)
{
    const Matrix<double> outside = vectors - span * (span.transpose() * vectors);
    return test::DenseSvd(outside).singularValues()(0);
}

} // namespace

class DegeneracyTest : public QObject {
    Q_OBJECT

private slots:
    void groupsByTheGapToTheNeighbour()
    {
        using Blocks = std::vector<int>;
        // The trap: relative to σ₁ the last two would be close.
        QCOMPARE(degenerateBlocks(std::vector<double>{1, 8e-3, 2e-4}, 3), (Blocks{0, 1, 2}));
        QCOMPARE(degenerateBlocks(std::vector<double>{5, 4.97, 4.94, 1, 0.995}, 5), (Blocks{0, 0, 0, 1, 1}));
        // The null space is one block of its own, and only that.
        QCOMPARE(degenerateBlocks(std::vector<double>{1, 0.5, 1e-9, 1e-12}, 2), (Blocks{0, 1, 2, 2}));
        QCOMPARE(degenerateBlocks(std::vector<double>{1, 1, 0.999}, 2), (Blocks{0, 0, 1}));
        QCOMPARE(degenerateBlocks(std::vector<double>{0, 0}, 0), (Blocks{0, 0}));
        QVERIFY(degenerateBlocks(std::vector<double>{}, 0).empty());
        QCOMPARE(numericalRank(std::vector<double>{1, 1e-5, 1e-8}, 7), Eigen::Index(2));
        QCOMPARE(numericalRank(std::vector<double>{0, 0}, 7), Eigen::Index(0));
    }

    void knowsWhatEachDtypeLoses()
    {
        QCOMPARE(roundingOf(DType::F32), std::ldexp(1.0, -24));
        QCOMPARE(roundingOf(DType::BF16), 1.0 / 256);
        QCOMPARE(roundingOf(DType::F16), 1.0 / 2048);
        QVERIFY(roundingOf(DType::Q4_0) > roundingOf(DType::Q8_0));
        const Circuits circuits = test::toyCircuits({});
        QCOMPARE(roundingOf(circuits.weights().original(), TensorKind::W_Q, 0, 1), std::ldexp(1.0, -24));
        QCOMPARE(roundingOf(circuits.weights().original(), TensorKind::W_router, 0, 0), 0.0);
    }

    // Equal σ form a block, and the readings of its span do not depend on its basis.
    void readsAnEqualPairAsItsSpan()
    {
        Planted model;
        const Eigen::VectorXd sigma = (Eigen::VectorXd(5) << 4, 2, 2, 1, 0.5).finished();
        const Matrix<double> none = Matrix<double>::Identity(5, 5);
        const Circuits circuits = model.circuits(sigma, none, none);
        const auto before = test::analysed(circuits, {"degeneracy"}, degeneracyOptions());
        const std::vector<double> blocks = degeneracyNumbers(before, "ov_block");
        QCOMPARE(std::vector<double>(blocks.begin(), blocks.begin() + 5),
                 (std::vector<double>{0, 1, 1, 2, 3}));
        const std::vector<double> sizes = degeneracyNumbers(before, "ov_block_size");
        QCOMPARE(std::vector<double>(sizes.begin(), sizes.begin() + 5), (std::vector<double>{1, 2, 2, 1, 1}));
        QCOMPARE(degeneracyNumbers(before, "ov_single")[0], 0.6);
        const auto gap = degeneracyNumbers(before, "ov_gap");
        QVERIFY(std::abs(gap[0] - 0.5) < 1e-12 && gap[1] < 1e-12 && std::abs(gap[4] - 0.5) < 1e-12);

        // By hand: the length of each token in the plane of u_1 and u_2.
        const Matrix<double> E = model.toy.matrix("embed.W_E");
        const Eigen::VectorXd lengths = (E * model.U.middleCols(1, 2)).rowwise().norm();
        Eigen::Index longest = 0;
        const double length = lengths.maxCoeff(&longest);
        QCOMPARE(degeneracyNumbers(before, "ov_in_ids")[1 * 4], static_cast<double>(longest));
        QVERIFY(std::abs(degeneracyNumbers(before, "ov_in_values")[1 * 4] - length) < 1e-12 * length);
        QCOMPARE(degeneracyNumbers(before, "ov_in_values")[2 * 4],
                 degeneracyNumbers(before, "ov_in_values")[1 * 4]);

        Matrix<double> turn = none; // u_1, u_2 and v_1, v_2 turned by the same 1 radian: the same matrix
        turn.block(1, 1, 2, 2) << std::cos(1.0), -std::sin(1.0), std::sin(1.0), std::cos(1.0);
        const auto after =
            test::analysed(model.circuits(sigma, turn, turn), {"degeneracy"}, degeneracyOptions());
        for (const char* array : {"ov_in_ids", "ov_out_ids", "ov_block"})
            QCOMPARE(degeneracyNumbers(after, array), degeneracyNumbers(before, array));
        for (const char* array : {"ov_in_values", "ov_out_values"}) {
            const auto a = degeneracyNumbers(after, array);
            const auto b = degeneracyNumbers(before, array);
            for (std::size_t i = 0; i < std::size_t(5) * 4; ++i)
                QVERIFY(std::abs(a[i] - b[i]) < 1e-9);
        }
        // The reason for blocks: a small change turns the directions of a close pair far.
        const Eigen::VectorXd near = (Eigen::VectorXd(5) << 4, 2.001, 2, 1, 0.5).finished();
        const auto close =
            test::analysed(model.circuits(near, none, none), {"degeneracy"}, degeneracyOptions());
        QCOMPARE(degeneracyNumbers(close, "ov_block"), blocks);
        for (std::size_t i = 0; i < 4; ++i)
            QVERIFY(std::abs(degeneracyNumbers(close, "ov_in_values")[4 + i]
                             - degeneracyNumbers(before, "ov_in_values")[4 + i])
                    < 1e-9);
    }

    // Weights moved by the rounding of their dtype: no direction turns further than stated, and the bound is not trivial.
    void errorBarsHoldForRoundedWeights()
    {
        double largestShare = 0;
        for (const unsigned seed : {1U, 2U, 3U}) {
            test::ToyOptions options;
            options.seed = seed;
            options.dModel = 31;
            options.dHead = 8;
            const Circuits circuits = test::toyCircuits(options, test::noProcessing());
            const auto results = test::analysed(circuits, {"degeneracy"}, degeneracyOptions());
            const auto error = degeneracyNumbers(results, "qk_error");
            const auto w = circuits.weights().head<double>({0, 0});
            const auto moved = [&](const Matrix<double>& m, unsigned part) {
                Matrix<double> out = m;
                std::mt19937 random(seed * 10 + part);
                for (Eigen::Index i = 0; i < out.size(); ++i)
                    out.data()[i] *= 1 + (random() % 2 == 0 ? 1 : -1) * std::ldexp(1.0, -24);
                return out;
            };
            const test::DenseSvd before(w.W_Q * w.W_K.transpose());
            const test::DenseSvd after(moved(w.W_Q, 1) * moved(w.W_K, 2).transpose());
            for (Eigen::Index k = 0; k < 8; ++k) {
                const double turned = std::max(sine(before.matrixU().col(k), after.matrixU().col(k)),
                                               sine(before.matrixV().col(k), after.matrixV().col(k)));
                const double bar = error[static_cast<std::size_t>(k)];
                QVERIFY2(turned <= bar,
                         qPrintable(QString("direction %1: %2, said %3").arg(k).arg(turned).arg(bar)));
                largestShare = std::max(largestShare, turned / bar);
            }
        }
        QVERIFY(largestShare > 0.02);
    }

    void agreesWithDenseCircuits_data()
    {
        QTest::addColumn<int>("at");
        const auto classes = test::toyClasses();
        for (std::size_t i = 0; i < classes.size(); i += 3)
            QTest::newRow(classes[i].first) << static_cast<int>(i);
    }
    void agreesWithDenseCircuits()
    {
        QFETCH(int, at);
        const Circuits circuits = test::toyCircuits(test::toyClasses()[static_cast<std::size_t>(at)].second);
        const ModelConfig& config = circuits.config();
        const auto results = test::analysed(circuits, {"degeneracy"}, degeneracyOptions());
        const HeadId head{config.nLayers - 1, config.nHeads - 1};
        const auto first = static_cast<std::size_t>((head.layer * config.nHeads + head.head) * config.dHead);
        const test::DenseSvd svd(test::denseCircuit(circuits, CircuitKind::Qk, head));
        const Eigen::VectorXd& S = svd.singularValues(); // all d of them: those beyond the head's size are 0
        const auto gap = degeneracyNumbers(results, "qk_gap");
        const Eigen::Index k = std::min(config.dHead, config.dModel);
        for (Eigen::Index i = 0; i < k && S(i) > 1e-5 * S(0); ++i) {
            double expected = i > 0 ? (S(i - 1) - S(i)) / S(i - 1) : 1;
            if (i + 1 < k)
                expected = std::min(expected, (S(i) - S(i + 1)) / S(i));
            QVERIFY(std::abs(gap[first + static_cast<std::size_t>(i)] - expected) < 1e-8);
        }
        // The spans' longest token, from a dense projector of the first block.
        const auto block = degeneracyNumbers(results, "qk_block");
        Eigen::Index size = 1;
        while (size < k && block[first + static_cast<std::size_t>(size)] == block[first])
            ++size;
        const Matrix<double> E = circuits.weights().W_E<double>(0, config.dVocab);
        const Matrix<double> span = svd.matrixU().leftCols(size);
        const Eigen::VectorXd lengths = (E * (span * span.transpose())).rowwise().norm();
        const std::size_t list = first / static_cast<std::size_t>(config.dHead)
            * static_cast<std::size_t>(std::min(10, config.dHead)) * 4;
        QVERIFY(std::abs(degeneracyNumbers(results, "qk_query_values")[list] - lengths.maxCoeff()) < 1e-8);
    }

    void otherHeadsAreLeftOutAndTheNullIsThere()
    {
        const Circuits circuits = test::toyCircuits({});
        AnalysisOptions options = degeneracyOptions();
        options.heads = {{1, 1}};
        const auto results = test::analysed(circuits, {"degeneracy"}, options);
        QCOMPARE(degeneracyNumbers(results, "ov_block")[0], -1.0);
        QVERIFY(std::isnan(degeneracyNumbers(results, "ov_single")[0])
                && !std::isnan(degeneracyNumbers(results, "ov_single")[4]));
        QCOMPARE(degeneracyNumbers(results, "ov_in_ids")[0], -1.0);
        const ResultArray* single = results.find("analyses/degeneracy/ov_single");
        QVERIFY(single->nullMean && *single->nullMean > 0.5 && single->nullDeviation);
        const auto again = test::analysed(circuits, {"degeneracy"}, options);
        QCOMPARE(*again.find("analyses/degeneracy/ov_single")->nullMean, *single->nullMean);
    }

    void randomNumbersAreNormalAndTheSameEverywhere()
    {
        const Matrix<double> m = gaussianMatrix(300, 201, 7);
        QVERIFY(std::abs(m.mean()) < 0.02);
        QVERIFY(std::abs(m.squaredNorm() / static_cast<double>(m.size()) - 1) < 0.02);
        QVERIFY(std::abs(m.array().cube().mean()) < 0.05);
        QVERIFY(std::abs(m.array().square().square().mean() - 3) < 0.1);
        QVERIFY(gaussianMatrix(300, 201, 7) == m);
        QVERIFY(gaussianMatrix(300, 201, 8) != m);
    }
};

HEADWISE_TEST(DegeneracyTest)
#include "degeneracy_test.moc"
