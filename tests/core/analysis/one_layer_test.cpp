#include "core/model/forward.h"

#include "tests/support/analysed.h"
#include "tests/support/program.h"

#include <array>
#include <cmath>

using namespace headwise;
using test::ToyOptions;

namespace {

const std::vector<int> prompt{3, 1, 4, 1, 5, 9, 2, 6};

/// A ⊗ B, [rows A · rows B, cols A · cols B].
Matrix<double> kronecker(const Matrix<double>& A, const Matrix<double>& B)
{
    Matrix<double> out(A.rows() * B.rows(), A.cols() * B.cols());
    for (Eigen::Index i = 0; i < A.rows(); ++i)
        for (Eigen::Index j = 0; j < A.cols(); ++j)
            out.block(i * B.rows(), j * B.cols(), B.rows(), B.cols()) = A(i, j) * B;
    return out;
}

/// The rows of a matrix below each other, as one column: the vector that the Kronecker form acts on.
Eigen::VectorXd stacked(const Matrix<double>& rows)
{
    return Matrix<double>(rows.transpose()).reshaped();
}

/// E + P of the prompt, [n, d].
Matrix<double> embedded(const Circuits& circuits)
{
    const auto n = static_cast<Eigen::Index>(prompt.size());
    Matrix<double> x = circuits.weights().W_pos<double>(0, n);
    for (Eigen::Index i = 0; i < n; ++i)
        x.row(i) += circuits.weights().W_E<double>(prompt[static_cast<std::size_t>(i)], 1);
    return x;
}

Matrix<double> causalSoftmax(const Matrix<double>& scores)
{
    Matrix<double> pattern = Matrix<double>::Zero(scores.rows(), scores.cols());
    for (Eigen::Index i = 0; i < scores.rows(); ++i) {
        for (Eigen::Index j = 0; j <= i; ++j)
            pattern(i, j) = std::exp(scores(i, j));
        pattern.row(i) /= pattern.row(i).sum();
    }
    return pattern;
}

ToyOptions withoutNorms()
{
    ToyOptions toy;
    toy.nLayers = 1;
    toy.attnOnly = true;
    toy.normalization.reset();
    toy.qkvBias = toy.outBias = toy.unembedBias = false;
    return toy;
}

} // namespace

/// Published formulas of one attention layer, compared with the forward pass.
class OneLayerTest : public QObject {
    Q_OBJECT

private slots:
    // Three tokens of two dimensions, written out; W_V = (a b; c d) with chosen numbers.
    void theKroneckerFormByHand()
    {
        Matrix<double> A(3, 3), W_O(2, 2), W_V(2, 2), x(3, 2);
        A << 0.3, 0.2, 0.5, 0.1, 0.6, 0.3, 0.2, 0.1, 0.7;
        W_O << -1, -2, -3, -4;
        W_V << 2, 1, 0, -1;
        x << 1, 2, 3, 4, 5, 6;
        const Matrix<double> I3 = Matrix<double>::Identity(3, 3), I2 = Matrix<double>::Identity(2, 2);

        // (Id ⊗ W_O) x: each token separately, as columns.
        const Eigen::VectorXd each = kronecker(I3, W_O) * stacked(x);
        QVERIFY(test::isClose(each, (Eigen::VectorXd(6) << -5, -11, -11, -25, -17, -39).finished(), 1e-15));
        // (A ⊗ Id) x: tokens are mixed, each dimension separately.
        const Eigen::VectorXd mixed = kronecker(A, I2) * stacked(x);
        QVERIFY(test::isClose(mixed, (Eigen::VectorXd(6) << 3.4, 4.4, 3.4, 4.4, 4.0, 5.0).finished(), 1e-15));
        // The three steps are A ⊗ W_O W_V, W_O W_V = (−2 1; −6 1), and A x W_Vᵀ W_Oᵀ on rows.
        const Matrix<double> whole = kronecker(A, W_O * W_V);
        QVERIFY(test::isClose(Matrix<double>(kronecker(I3, W_O) * kronecker(A, I2) * kronecker(I3, W_V)),
                              whole, 1e-15));
        QVERIFY(std::abs(whole(0, 0) + 0.6) < 1e-15 && std::abs(whole(1, 4) + 3.0) < 1e-15);
        const Eigen::VectorXd out = whole * stacked(x);
        const Eigen::VectorXd expected =
            (Eigen::VectorXd(6) << -2.4, -16.0, -2.4, -16.0, -3.0, -19.0).finished();
        QVERIFY(test::isClose(out, expected, 1e-14));
        // Our convention, rows instead of columns: OV = W_Vᵀ W_Oᵀ kept as factors.
        const auto OV = FactoredMatrix<double>::create(W_V.transpose(), W_O.transpose());
        QVERIFY(test::isOk(OV));
        for (Eigen::Index i = 0; i < 3; ++i)
            QVERIFY(test::isClose(OV->apply(RowVector<double>(A.row(i) * x)),
                                  expected.segment(2 * i, 2).transpose(), 1e-14));
    }

    // T = Id ⊗ W_U W_E + Σ A^h ⊗ (W_U W_OV^h W_E), on one-hot tokens. With positions, E + P replaces E.
    void theDirectPathAndTheHeadsAreTheForwardPass_data()
    {
        QTest::addColumn<bool>("float64");
        QTest::newRow("float32") << false;
        QTest::newRow("float64") << true;
    }
    void theDirectPathAndTheHeadsAreTheForwardPass()
    {
        QFETCH(bool, float64);
        ToyOptions toy = withoutNorms();
        toy.float64 = float64;
        for (const bool positions : {false, true}) {
            toy.positional = positions ? "standard" : "none";
            const Circuits circuits = test::toyCircuits(toy, test::noProcessing());
            const ModelConfig& config = circuits.config();
            const auto run = forward<double>(circuits.weights(), prompt, Task{});
            QVERIFY(test::isOk(run));
            const auto n = static_cast<Eigen::Index>(prompt.size());
            const Matrix<double> E = circuits.weights().W_E<double>(0, config.dVocab);
            const Matrix<double> U = circuits.weights().W_U<double>(0, config.dVocabOut);
            const Matrix<double> I = Matrix<double>::Identity(n, n);
            Matrix<double> tokens = Matrix<double>::Zero(n, config.dVocab); // one-hot rows
            for (Eigen::Index i = 0; i < n; ++i)
                tokens(i, prompt[static_cast<std::size_t>(i)]) = 1;
            const Matrix<double> x = positions ? embedded(circuits) : Matrix<double>(tokens * E);

            Matrix<double> factored = x * U;
            Matrix<double> sum = kronecker(I, U.transpose());
            Matrix<double> onTokens = kronecker(I, (E * U).transpose());
            for (int head = 0; head < config.nHeads; ++head) {
                const Matrix<double>& A = run->patterns[0][static_cast<std::size_t>(head)];
                const FactoredMatrix<double> ov = circuits.ov({0, head});
                factored += A * (x * ov.left()) * ov.right() * U;
                sum += kronecker(A, (ov.dense() * U).transpose());
                onTokens += kronecker(A, (E * ov.dense() * U).transpose());
            }
            QVERIFY(test::isClose(factored, run->logits, 1e-12));
            QVERIFY(test::isClose(Eigen::VectorXd(sum * stacked(x)), stacked(run->logits), 1e-12));
            if (!positions)
                QVERIFY(
                    test::isClose(Eigen::VectorXd(onTokens * stacked(tokens)), stacked(run->logits), 1e-12));
            const auto rounded = forward<float>(circuits.weights(), prompt, Task{});
            QVERIFY(test::isOk(rounded));
            QVERIFY(test::isClose(rounded->logits.cast<double>(), factored, 1e-5));
        }
    }

    void attentionIsTheMaskedSoftmaxOfThePairsOfSums()
    {
        ToyOptions toy = withoutNorms();
        for (const double divisor : {0.0, 1.5}) { // √d_head, or what the config says
            toy.attnScale = divisor;
            for (const int nKvHeads : {0, 1}) {
                toy.nKvHeads = nKvHeads;
                const Circuits circuits = test::toyCircuits(toy, test::noProcessing());
                const auto run = forward<double>(circuits.weights(), prompt, Task{});
                QVERIFY(test::isOk(run));
                const Matrix<double> x = embedded(circuits);
                for (int head = 0; head < toy.nHeads; ++head) {
                    const double scale = 1 / (divisor > 0 ? divisor : std::sqrt(5.0));
                    const Matrix<double> scores = x * circuits.qk({0, head}).dense() * x.transpose() * scale;
                    QVERIFY(test::isClose(run->patterns[0][static_cast<std::size_t>(head)],
                                          causalSoftmax(scores), 1e-12));
                }
            }
        }
    }

    // ATTN(i) = Σ_h Σ_j α_ij x_j/σ_j W^VO_h + b^VO, W^VO = C diag(γ) W^V W^O, b^VO = β W^V W^O + b^V W^O + b^O.
    void afterFoldingAttentionIsOneMapPerHeadAndOneBias_data()
    {
        QTest::addColumn<int>("nKvHeads");
        QTest::newRow("every head its own values") << 0;
        QTest::newRow("grouped") << 1;
    }
    void afterFoldingAttentionIsOneMapPerHeadAndOneBias()
    {
        QFETCH(int, nKvHeads);
        ToyOptions toy;
        toy.nLayers = 1;
        toy.attnOnly = true; // so that the last residual is the first and the attention
        toy.nKvHeads = nKvHeads;
        toy.float64 = true;
        const Circuits raw = test::toyCircuits(toy, test::noProcessing());
        ProcessingWish wish = test::noProcessing();
        wish.foldLayerNorm = wish.foldValueBiases = StepWish::Required;
        const Circuits folded = test::toyCircuits(toy, wish);
        const auto run = forward<double>(raw.weights(), prompt, Task{});
        QVERIFY(test::isOk(run));
        const Matrix<double> attention = run->residuals[1] - run->residuals[0];

        const auto norm = raw.weights().ln1<double>(0);
        RowVector<double> b_VO = raw.weights().b_O<double>(0);
        const Matrix<double> C = Matrix<double>::Identity(toy.dModel, toy.dModel)
            - Matrix<double>::Constant(toy.dModel, toy.dModel, 1.0 / toy.dModel);
        Matrix<double> normed = embedded(raw); // x/σ, nothing more
        for (Eigen::Index i = 0; i < normed.rows(); ++i) {
            const double mean = normed.row(i).mean();
            normed.row(i) /= std::sqrt((normed.row(i).array() - mean).square().mean() + norm.eps);
        }
        Matrix<double> found = Matrix<double>::Zero(attention.rows(), attention.cols());
        for (int head = 0; head < toy.nHeads; ++head) {
            const auto h = raw.weights().head<double>({0, head});
            b_VO += norm.b * h.W_V * h.W_O + h.b_V * h.W_O;
            const FactoredMatrix<double> W_VO = folded.ov({0, head});
            QVERIFY(
                test::isClose(W_VO.dense(), Matrix<double>(C * norm.w.asDiagonal() * h.W_V * h.W_O), 1e-12));
            found += run->patterns[0][static_cast<std::size_t>(head)] * normed * W_VO.left() * W_VO.right();
        }
        QVERIFY(test::isClose(folded.weights().b_O<double>(0), b_VO, 1e-12));
        found.rowwise() += b_VO;
        QVERIFY(test::isClose(found, attention, 1e-11));
        QVERIFY(test::isClose(Matrix<double>(found.rowwise() - b_VO), attention, 1e-3) == false);
    }
};

HEADWISE_TEST(OneLayerTest)
#include "one_layer_test.moc"
