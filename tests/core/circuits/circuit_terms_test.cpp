#include "core/analysis/position/rotary_tables.h"
#include "core/circuits/axis_order.h"
#include "core/circuits/block.h"
#include "core/circuits/head_at_offset.h"
#include "core/circuits/token_table.h"
#include "tests/support/analysed.h"
#include "tests/support/program.h"
#include "tests/support/rotation.h"
#include "tests/support/toy_classes.h"

#include <QTest>

#include <cmath>

using namespace headwise;

namespace {

/// The circuit with the views' terms, dense and in double, by its definition.
Matrix<double> denseWithTerms(const Circuits& circuits, CircuitKind kind, HeadId head,
                              const CircuitTerms& terms)
{
    const ModelConfig& config = circuits.config();
    const auto w = circuits.weights().head<double>(head);
    const Matrix<double> E = circuits.weights().W_E<double>(0, config.dVocab);
    const auto biased = [&](const Matrix<double>& x, const Matrix<double>& W, const RowVector<double>& b) {
        Matrix<double> out = x * W;
        if (terms.biases)
            out.rowwise() += b;
        return out;
    };
    if (kind == CircuitKind::FullOv)
        return biased(E, w.W_V, w.b_V) * w.W_O * circuits.weights().W_U<double>(0, config.dVocabOut);
    Matrix<double> queries = biased(E, w.W_Q, w.b_Q);
    if (terms.offset > 0)
        queries *= test::rotation(config.rotaryOf(head.layer), queries.cols(), terms.offset);
    const Matrix<double> scores = queries * biased(E, w.W_K, w.b_K).transpose();
    return terms.scale ? Matrix<double>(scores * config.attentionScaleOf(head.layer)) : scores;
}

constexpr std::array<CircuitTerms, 4> allTerms{{{false, false}, {true, false}, {false, true}, {true, true}}};

} // namespace

class CircuitTermsTest : public QObject {
    Q_OBJECT

private slots:
    void linesAndBlocksWithBiasesAndScaleAreThoseOfTheDefinition()
    {
        for (const auto& [name, options] : test::toyClasses()) {
            const Circuits circuits = test::toyCircuits(options, test::noProcessing());
            const auto tokens = test::tokensOf(circuits, Embedding::Raw, Precision::F64);
            const HeadId head{1, 1};
            for (const CircuitKind kind : {CircuitKind::FullQk, CircuitKind::FullOv}) {
                for (const CircuitTerms& terms : allTerms) {
                    const Matrix<double> dense = denseWithTerms(circuits, kind, head, terms);
                    const auto row = tokenLine(circuits, *tokens, {kind, head, terms}, TableSide::Row, 1);
                    const auto column =
                        tokenLine(circuits, *tokens, {kind, head, terms}, TableSide::Column, 2);
                    QVERIFY2(test::isClose(*row, dense.row(1), 1e-12), name);
                    QVERIFY2(test::isClose(*column, dense.col(2).transpose(), 1e-12), name);
                    const std::vector<int> ids{2, 0, 3};
                    const auto block = circuitBlock(circuits, tokens.get(), {kind, head, terms}, ids, ids);
                    QVERIFY2(test::isClose(*block, Matrix<double>(dense(ids, ids)), 1e-5), name);
                }
            }
        }
    }

    void rotaryCircuitsAtAnOffsetStayFactored()
    {
        int classes = 0;
        for (const auto& [name, options] : test::toyClasses()) {
            if (options.positional != "rotary")
                continue;
            ++classes;
            const Circuits circuits = test::toyCircuits(options, test::noProcessing());
            const auto tokens = test::tokensOf(circuits, Embedding::Raw, Precision::F64);
            const HeadId head{1, 1};
            for (const CircuitTerms& terms : {CircuitTerms{false, false, 1}, CircuitTerms{false, false, 4},
                                              CircuitTerms{true, true, 3}}) {
                const CircuitOfHead of{CircuitKind::FullQk, head, terms};
                const Matrix<double> dense = denseWithTerms(circuits, of.kind, head, terms);
                QVERIFY2(
                    test::isClose(*tokenLine(circuits, *tokens, of, TableSide::Row, 1), dense.row(1), 1e-12),
                    name);
                QVERIFY2(test::isClose(*tokenLine(circuits, *tokens, of, TableSide::Column, 2),
                                       dense.col(2).transpose(), 1e-12),
                         name);
                const std::vector<int> ids{2, 0, 3};
                QVERIFY2(test::isClose(*circuitBlock(circuits, tokens.get(), of, ids, ids),
                                       Matrix<double>(dense(ids, ids)), 1e-5),
                         name);
                const auto factors = circuitFactors(circuits, *tokens, of, Task{});
                QVERIFY2(test::isClose(Matrix<float>(factors->left() * factors->right()), dense, 1e-5), name);
                if (terms.biases)
                    continue;
                QVERIFY2(test::isClose(circuitAtOffset(circuits, of, tokens.get())->dense(), dense, 1e-12),
                         name);
                const auto w = circuits.weights().head<double>(head);
                const Matrix<double> R =
                    test::rotation(circuits.config().rotaryOf(head.layer), w.W_Q.cols(), terms.offset);
                QVERIFY2(test::isClose(*wholeCircuit(circuits, {CircuitKind::Qk, head, terms}),
                                       Matrix<double>(w.W_Q * R * w.W_K.transpose()), 1e-5),
                         name);
            }
            QVERIFY(!tokenLine(circuits, *tokens, {CircuitKind::FullQk, head, {.offset = -1}}, TableSide::Row,
                               1));
            const int past = circuits.config().nCtx;
            QVERIFY(test::failsWith(
                circuitFactors(circuits, *tokens, {CircuitKind::FullQk, head, {.offset = past}}, Task{}),
                ErrorCode::InvalidArgument, "There is no offset"));
        }
        QVERIFY(classes >= 3);
    }

    void anOffsetIsThatOfTheRotaryTables()
    {
        test::ToyOptions options;
        options.positional = "rotary";
        options.rotaryDim = 4;
        options.dHead = 6;
        const Circuits circuits = test::toyCircuits(options);
        const auto tokens = test::tokensOf(circuits);
        for (const int offset : {0, 1, 5}) {
            const auto line = tokenLine(circuits, *tokens, {CircuitKind::FullQk, {1, 2}, {.offset = offset}},
                                        TableSide::Row, 3);
            const auto known = rotaryTokenLine(circuits, *tokens, {1, 2}, 3, offset);
            QVERIFY(line && known && test::isClose(*line, *known, 1e-12));
        }
    }

    void otherPositionsHaveNoOffset()
    {
        const Circuits circuits = test::toyCircuits(test::ToyOptions{}, test::noProcessing());
        const auto tokens = test::tokensOf(circuits);
        const CircuitOfHead qk{CircuitKind::FullQk, {0, 1}, {.offset = 1}};
        QVERIFY(test::failsWith(tokenLine(circuits, *tokens, qk, TableSide::Row, 1),
                                ErrorCode::InvalidArgument, "need rotary positions"));
        QVERIFY(!circuitAtOffset(circuits, qk, tokens.get()));
        QVERIFY(
            tokenLine(circuits, *tokens, {CircuitKind::FullOv, {0, 1}, {.offset = 1}}, TableSide::Row, 1));
    }

    /// [x 1] [W; b] is x W + b: the form with d_model + 1 rows gives the same result as the biased product for every x.
    void theLargerFormCarriesTheBiases()
    {
        const Circuits circuits = test::toyCircuits(test::ToyOptions{}, test::noProcessing());
        const HeadId head{1, 2};
        const Eigen::Index d = circuits.config().dModel;
        const auto w = circuits.weights().head<double>(head);
        const RowVector<double> x = RowVector<double>::Random(d);
        const RowVector<double> y = RowVector<double>::Random(d);
        const auto qk = wholeCircuit(circuits, {CircuitKind::Qk, head, {true, true}});
        QCOMPARE(qk->rows(), d + 1);
        QCOMPARE(qk->cols(), d + 1);
        RowVector<double> x1(d + 1), y1(d + 1);
        x1 << x, 1;
        y1 << y, 1;
        const double score =
            (x * w.W_Q + w.b_Q).dot(y * w.W_K + w.b_K) * circuits.config().attentionScaleOf(head.layer);
        QVERIFY(std::abs(x1 * qk->cast<double>() * y1.transpose() - score) < 1e-5 * std::abs(score) + 1e-6);
        const auto ov = wholeCircuit(circuits, {CircuitKind::Ov, head, {true, true}});
        QCOMPARE(ov->rows(), d + 1);
        QCOMPARE(ov->cols(), d);
        const RowVector<double> written = (x * w.W_V + w.b_V) * w.W_O;
        QVERIFY(test::isClose(RowVector<double>(x1 * ov->cast<double>()), written, 1e-5));
    }

    void rowsAreMadeComparable()
    {
        Matrix<float> block(2, 3);
        block << 1, 2, 3, 5, 5, 5;
        QVERIFY(inRowForm(block, RowForm::Raw) == block);
        Matrix<float> centred(2, 3);
        centred << -1, 0, 1, 0, 0, 0;
        QVERIFY(test::isClose(inRowForm(block, RowForm::Centred), centred.cast<double>(), 1e-7));
        const Matrix<float> z = inRowForm(block, RowForm::ZScores);
        QVERIFY(std::abs(z(0, 2) - std::sqrt(1.5F)) < 1e-6F && std::isnan(z(1, 0)));
        const Matrix<float> softmax = inRowForm(block, RowForm::Softmax);
        const double sum = std::exp(1.0) + std::exp(2.0) + std::exp(3.0);
        QVERIFY(std::abs(softmax(0, 0) - std::exp(1.0) / sum) < 1e-7);
        QVERIFY(std::abs(softmax(1, 1) - 1.0 / 3) < 1e-7);
        block << 1000, 0, -1000, 0, 0, 0;
        QCOMPARE(inRowForm(block, RowForm::Softmax)(0, 0), 1.F); // no overflow
    }

    void residualDirectionsByNorm()
    {
        Matrix<float> block(3, 2);
        block << 1, 0, -5, 2, 0, -1;
        QCOMPARE(byNorm(block, false), (std::vector<int>{1, 0, 2})); // rows 0 and 2 tie
        QCOMPARE(byNorm(block, true), (std::vector<int>{0, 1}));
    }

    void theDirectPathIsEmbeddingTimesUnembedding()
    {
        for (const auto& [name, options] : test::toyClasses()) {
            const Circuits circuits = test::toyCircuits(options, test::noProcessing());
            const ModelConfig& config = circuits.config();
            const auto tokens = test::tokensOf(circuits, Embedding::Raw, Precision::F64);
            const Matrix<double> dense = circuits.weights().W_E<double>(0, config.dVocab)
                * circuits.weights().W_U<double>(0, config.dVocabOut);
            const std::vector<int> read{2, 0, 3}, next{1, 4};
            const auto alone = directPathBlock(circuits, *tokens, false, read, next);
            QVERIFY2(test::isClose(*alone, Matrix<double>(dense(read, next)), 1e-5), name);
            const Matrix<double> biased =
                dense.rowwise() + circuits.weights().b_U<double>(0, config.dVocabOut);
            const auto whole = directPathBlock(circuits, *tokens, true, read, next);
            QVERIFY2(test::isClose(*whole, Matrix<double>(biased(read, next)), 1e-5), name);
            QVERIFY(!directPathBlock(circuits, *tokens, false, {config.dVocab}, next));
        }
    }

    void rowsAndColumnsStandInTheOrderAskedFor()
    {
        // M = 3 u vᵀ + a little, so that its first vectors are known.
        const Eigen::Vector4d u(0.1, -0.9, 0.4, 0.2);
        const Eigen::Vector3d v(-0.5, 0.7, 0.1);
        Matrix<float> M = (3 * u * v.transpose()).cast<float>();
        M(3, 2) += 0.01F;
        const auto isOrder = [](const Result<AxisOrders>& found, const std::vector<int>& rows,
                                const std::vector<int>& columns) {
            return found && found->rows == rows && found->columns == columns;
        };
        // u's largest magnitude is at 1, so that the pair stands with the other sign: −u, −v.
        QVERIFY(isOrder(axisOrders(M, AxisOrder::ByVector), {1, 0, 3, 2}, {0, 2, 1}));
        QVERIFY(isOrder(axisOrders(M, AxisOrder::ByNorm), {1, 2, 3, 0}, {1, 0, 2}));
        QVERIFY(isOrder(axisOrders(M, AxisOrder::ByIndex), {0, 1, 2, 3}, {0, 1, 2}));
        const auto factored = FactoredMatrix<float>::create(M, Matrix<float>::Identity(3, 3));
        QVERIFY(isOrder(axisOrders(*factored, AxisOrder::ByVector), {1, 0, 3, 2}, {0, 2, 1}));
        QVERIFY(isOrder(axisOrders(*factored, AxisOrder::ByNorm), {1, 2, 3, 0}, {1, 0, 2}));
        QVERIFY(isOrder(axisOrders(*factored, AxisOrder::ByIndex), {0, 1, 2, 3}, {0, 1, 2}));
        M(0, 0) = NAN;
        QVERIFY(!axisOrders(M, AxisOrder::ByVector));
    }

    void anEntryStandsSomewhereInItsRow()
    {
        const RowVector<double> row = (RowVector<double>(4) << 1, 3, 1000, -1).finished();
        const LineStatistics used = lineStatistics(row, {false, false, true, false});
        QCOMPARE(used.mean, 1.0);
        QVERIFY(std::abs(used.deviation - std::sqrt(8.0 / 3)) < 1e-15);
        QVERIFY(std::abs(used.norm - std::sqrt(11.0)) < 1e-15);
        QVERIFY(std::abs(used.zScore(3) - 2 / std::sqrt(8.0 / 3)) < 1e-15);
        QVERIFY(std::abs(used.share(3) - 9.0 / 11) < 1e-15);
        const LineStatistics zero = lineStatistics(RowVector<double>::Zero(3), {});
        QVERIFY(std::isnan(zero.zScore(0)) && std::isnan(zero.share(0)));
        const LineStatistics far = lineStatistics(RowVector<double>::Constant(3, 1e9).array() + 0.5, {});
        QCOMPARE(far.deviation, 0.0); // one value: no spread, whatever its size
    }
};

HEADWISE_TEST(CircuitTermsTest)
#include "circuit_terms_test.moc"
