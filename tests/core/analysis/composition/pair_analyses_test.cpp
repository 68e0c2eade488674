#include "core/analysis/head_pairs.h"
#include "core/circuits/spectrum.h"
#include "core/circuits/subspace.h"

#include "tests/support/dense_algebra.h"
#include "tests/support/planted.h"
#include "tests/support/program.h"
#include "tests/support/toy_classes.h"

#include <cmath>
#include <numeric>

using namespace headwise;

namespace {

const std::string componentsAt = "analyses/component_composition/";
const std::string virtualHead = "analyses/virtual_head/";
const std::string tokenSides = "analyses/embedding_composition/";

AnalysisOptions pairOptions(std::optional<std::pair<HeadId, HeadId>> pair = {})
{
    AnalysisOptions options;
    options.precision = Precision::F64;
    options.inputs.pair = pair;
    return options;
}

double headNumber(const Circuits& circuits, const ResultSet& results, const std::string& path, HeadId head)
{
    return test::numbers(results,
                         path)[static_cast<std::size_t>(head.layer * circuits.config().nHeads + head.head)];
}

/// σ²/Σσ² of a dense matrix.
Eigen::VectorXd pairShares(const Matrix<double>& dense)
{
    const Eigen::VectorXd squares = test::singularValuesOf(dense).array().square();
    return squares / squares.sum();
}

} // namespace

/// Composition by component, virtual heads, and composition with the tokens.
class PairAnalysesTest : public QObject {
    Q_OBJECT

private slots:
    // W_OV¹ = 3 a₀b₀ᵀ + 2 a₁b₁ᵀ + a₂b₂ᵀ + …; the later head's keys read only b₁.
    void aChannelIsOneComponent()
    {
        test::PlantedModel model(test::widePlantedOptions());
        const Matrix<double> basis = test::orthonormalColumns(24, 20, 1);
        const Eigen::VectorXd sigma = (Eigen::VectorXd(5) << 3, 2, 1, 0.5, 0).finished();
        model.set("W_V", {0, 1}, basis.leftCols(5) * sigma.asDiagonal());
        model.set("W_O", {0, 1}, basis.middleCols(5, 5).transpose());
        Matrix<double> key = Matrix<double>::Zero(24, 5);
        key.col(0) = basis.col(6);
        model.set("W_K", {1, 0}, key);
        model.set("W_Q", {1, 0}, basis.middleCols(10, 5));
        const auto results =
            test::analysed(model.circuits(), {"component_composition"}, pairOptions({{{0, 1}, {1, 0}}}));
        const auto k = test::numbers(results, componentsAt + "k");
        const auto share = test::numbers(results, componentsAt + "k_share");
        const double expected[]{0, 1, 0, 0};
        for (std::size_t i = 0; i < 4; ++i) {
            QVERIFY(std::abs(k[i] - expected[i]) < 1e-12);
            QVERIFY(std::abs(share[i] - expected[i]) < 1e-12);
        }
        QVERIFY(std::isnan(k[4]) && std::isnan(share[4]));
        QVERIFY(std::abs(test::numbers(results, componentsAt + "singular_values")[1] - 2) < 1e-12);
        QVERIFY(std::abs(test::numbers(results, componentsAt + "share_null")[1] - 4 / 14.25) < 1e-12);
    }

    void componentsAddUpToTheWholeScore()
    {
        for (const auto& [name, options] : test::toyClasses()) {
            const Circuits circuits = test::toyCircuits(options);
            const HeadId earlier{0, 1}, later{1, 2};
            const auto results = test::analysed(circuits, {"component_composition", "composition"},
                                                pairOptions({{earlier, later}}));
            const Matrix<double> ov = test::denseCircuit(circuits, CircuitKind::Ov, earlier);
            const Matrix<double> qk2 = test::denseCircuit(circuits, CircuitKind::Qk, later);
            const test::DenseSvd svd(ov);
            const auto q = test::numbers(results, componentsAt + "q");
            const auto share = test::numbers(results, componentsAt + "q_share");
            double sum = 0;
            double squares = 0;
            for (std::size_t i = 0; i < q.size() && !std::isnan(q[i]); ++i) {
                const auto k = static_cast<Eigen::Index>(i);
                QVERIFY2(std::abs(q[i] - (svd.matrixV().col(k).transpose() * qk2).norm() / qk2.norm()) < 1e-7,
                         name);
                sum += share[i];
                squares += std::pow(svd.singularValues()(k) * q[i], 2) / ov.squaredNorm();
            }
            QVERIFY2(std::abs(sum - 1) < 1e-9, name);
            const auto heads = static_cast<std::size_t>(circuits.config().nHeads);
            const double whole = test::numbers(results, "composition/q")[1 * 2 * heads + heads + 2];
            QVERIFY2(std::abs(std::sqrt(squares) - whole) < 1e-9, name);
        }
    }

    // Factors a million times larger than their product: a score from a product in float32 would be noise.
    void float32KeepsTheScoresOfFactorsThatCancel()
    {
        test::PlantedModel model(test::widePlantedOptions());
        const Matrix<double> basis = test::orthonormalColumns(24, 12, 3);
        Matrix<double> V = Matrix<double>::Zero(24, 5), O = Matrix<double>::Zero(5, 24);
        V.col(0) = basis.col(0);
        V.col(1) = basis.col(0);
        O.row(0) = basis.col(1).transpose();
        O.row(1) = -basis.col(1).transpose() + 1e-6 * basis.col(2).transpose();
        model.set("W_V", {0, 1}, V);
        model.set("W_O", {0, 1}, O);
        model.set("W_V", {1, 0}, O.transpose());
        model.set("W_O", {1, 0}, V.transpose());
        AnalysisOptions options = pairOptions();
        options.precision = Precision::F32;
        const Circuits circuits = model.circuits();
        const auto results = test::analysed(circuits, {"composition"}, options);
        const auto heads = static_cast<std::size_t>(circuits.config().nHeads);
        const auto v = test::numbers(results, "composition/v");
        for (int earlier = 0; earlier < circuits.config().nHeads; ++earlier) {
            for (int later = 0; later < circuits.config().nHeads; ++later) {
                const Matrix<double> first = test::denseCircuit(circuits, CircuitKind::Ov, {0, earlier});
                const Matrix<double> second = test::denseCircuit(circuits, CircuitKind::Ov, {1, later});
                const double expected = (first * second).norm() / (first.norm() * second.norm());
                const double score = v[static_cast<std::size_t>(earlier) * 2 * heads + heads
                                       + static_cast<std::size_t>(later)];
                QVERIFY2(
                    std::isnan(expected) ? std::isnan(score) : std::abs(score - expected) < 1e-6,
                    qPrintable(
                        QStringLiteral("%1 %2: %3 %4").arg(earlier).arg(later).arg(score).arg(expected)));
            }
        }
    }

    void aVirtualHeadIsTheProductOfTwo()
    {
        for (const auto& [name, options] : test::toyClasses()) {
            const Circuits circuits = test::toyCircuits(options);
            const HeadId earlier{0, 2}, later{1, 1};
            AnalysisOptions asked = pairOptions({{earlier, later}});
            asked.tableSize = 3;
            const auto results = test::analysed(circuits, {"virtual_head"}, asked);
            const Matrix<double> ov1 = test::denseCircuit(circuits, CircuitKind::Ov, earlier);
            const Matrix<double> ov2 = test::denseCircuit(circuits, CircuitKind::Ov, later);
            const Matrix<double> both = ov1 * ov2;
            const auto sigma = test::numbers(results, virtualHead + "singular_values");
            const Eigen::VectorXd expected = test::singularValuesOf(both);
            for (std::size_t i = 0; i < sigma.size(); ++i)
                QVERIFY2(std::abs(sigma[i] - expected(static_cast<Eigen::Index>(i))) < 1e-10 * expected(0),
                         name);
            QVERIFY2(std::abs(test::numbers(results, virtualHead + "norm_share")[0]
                              - both.norm() / ov1.norm() / ov2.norm())
                         < 1e-12,
                     name);
            const ModelConfig& config = circuits.config();
            const Matrix<double> full = circuits.weights().W_E<double>(0, config.dVocab) * both
                * circuits.weights().W_U<double>(0, config.dVocabOut);
            const Eigen::VectorXcd lambda = test::eigenvaluesOf(full);
            QVERIFY2(std::abs(test::numbers(results, virtualHead + "copying")[0]
                              - lambda.sum().real() / lambda.cwiseAbs().sum())
                         < 1e-4,
                     name);
            const auto rows = test::numbers(results, virtualHead + "source_ids");
            const auto ids = test::numbers(results, virtualHead + "output_ids");
            const auto values = test::numbers(results, virtualHead + "output_values");
            const auto norms = test::numbers(results, virtualHead + "source_norms");
            QCOMPARE(rows.size(), static_cast<std::size_t>(std::min(20, config.dVocab)));
            Eigen::Index largest = 0;
            full.rowwise().norm().maxCoeff(&largest);
            QCOMPARE(rows[0], static_cast<double>(largest));
            for (std::size_t i = 0; i < rows.size(); ++i) {
                const auto row = full.row(static_cast<Eigen::Index>(rows[i]));
                QVERIFY2(std::abs(values[3 * i] - row.maxCoeff()) < 1e-12 * full.cwiseAbs().maxCoeff(), name);
                QVERIFY2(std::abs(norms[i] - row.norm()) < 1e-12 * full.norm(), name);
                QVERIFY2(std::abs(row(static_cast<Eigen::Index>(ids[3 * i])) - row.maxCoeff())
                             < 1e-5 * full.cwiseAbs().maxCoeff(),
                         name);
            }
        }
    }

    void aVirtualHeadOfTheTokenAskedFor()
    {
        const Circuits circuits = test::toyCircuits({});
        AnalysisOptions options = pairOptions({{{0, 0}, {1, 0}}});
        options.inputs.token = 7;
        options.unusedTokens.assign(11, false);
        options.unusedTokens[2] = true;
        const auto results = test::analysed(circuits, {"virtual_head"}, options);
        QCOMPARE(test::numbers(results, virtualHead + "source_ids"), std::vector<double>{7});
        const auto ids = test::numbers(results, virtualHead + "output_ids");
        QCOMPARE(ids.size(), std::size_t(10));
        QVERIFY(std::find(ids.begin(), ids.end(), 2.0) == ids.end());
        QCOMPARE(results.find(virtualHead + "output_ids")->unit, std::string("token"));
    }

    // Two heads with unrelated directions have the null spectrum.
    void theSpectrumOfChanceIsThatOfUnrelatedHeads()
    {
        test::ToyOptions options = test::widePlantedOptions();
        options.dModel = 60;
        const Circuits circuits = test::toyCircuits(options, test::noProcessing());
        const auto results = test::analysed(circuits, {"virtual_head"}, pairOptions({{{0, 0}, {1, 1}}}));
        const auto found = test::numbers(results, virtualHead + "singular_values");
        const auto chance = test::numbers(results, virtualHead + "singular_values_null");
        QCOMPARE(chance.size(), found.size());
        for (std::size_t i = 0; i < 3; ++i)
            QVERIFY(std::abs(found[i] / chance[i] - 1) < 0.5);
    }

    void pairsThatAreNone()
    {
        const Circuits circuits = test::toyCircuits({});
        const auto warningOf = [&](const char* analysis, HeadId earlier, HeadId later) {
            const auto results = test::analysed(circuits, {analysis}, pairOptions({{earlier, later}}));
            return results.arrays.empty() ? results.warnings.at(0) : std::string("it was done");
        };
        for (const char* analysis : {"virtual_head", "component_composition"}) {
            QVERIFY(
                warningOf(analysis, {1, 0}, {0, 1}).find("Head 1.0 is not in an earlier layer than head 0.1")
                != std::string::npos);
            QVERIFY(warningOf(analysis, {0, 0}, {1, 3}).find("There is no head 1.3") != std::string::npos);
            const auto none = test::analysed(circuits, {analysis});
            QVERIFY(none.warnings.at(0).find("two heads") != std::string::npos);
        }
    }

    void tokenSidesAgreeWithTheDenseProducts()
    {
        for (const auto& [name, options] : test::toyClasses()) {
            const Circuits circuits = test::toyCircuits(options);
            const ModelConfig& config = circuits.config();
            const auto results = test::analysed(circuits, {"embedding_composition"}, pairOptions());
            const Matrix<double> E = circuits.weights().W_E<double>(0, config.dVocab);
            const Matrix<double> U = circuits.weights().W_U<double>(0, config.dVocabOut);
            for (const HeadId head : {HeadId{0, 0}, HeadId{1, 2}}) {
                const Matrix<double> qk = test::denseCircuit(circuits, CircuitKind::Qk, head);
                const Matrix<double> ov = test::denseCircuit(circuits, CircuitKind::Ov, head);
                const auto check = [&](const char* side, const Matrix<double>& A, const Matrix<double>& B,
                                       const Matrix<double>& circuit) {
                    const double score = (A * B).norm() / A.norm() / B.norm();
                    const Moments null = overlapMoments(pairShares(&circuit == &A ? B : A).squaredNorm(),
                                                        pairShares(circuit).squaredNorm(), config.dModel);
                    const double z = (score * score - null.mean) / null.deviation;
                    QVERIFY2(std::abs(headNumber(circuits, results, tokenSides + side, head) - score) < 1e-9,
                             name);
                    QVERIFY2(std::abs(headNumber(circuits, results, tokenSides + side + "_z", head) - z)
                                 < 1e-6 * (1 + std::abs(z)),
                             name);
                };
                check("reads_query", E, qk, qk);
                const Matrix<double> turned = qk.transpose();
                check("reads_key", E, turned, turned);
                check("reads_value", E, ov, ov);
                check("writes", ov, U, ov);
            }
        }
    }

    void aHeadThatReadsOnlyTokensAndOneThatWritesNone()
    {
        test::ToyOptions options = test::widePlantedOptions();
        options.dVocab = 10;
        test::PlantedModel model(options);
        const Matrix<double> basis = test::orthonormalColumns(24, 20, 6);
        model.set("embed.W_E", basis.leftCols(10).transpose());
        model.set("unembed.W_U", basis.rightCols(10));
        model.set("W_V", {0, 1}, basis.leftCols(5));
        model.set("W_O", {0, 1}, basis.middleCols(3, 5).transpose());
        model.set("W_Q", {0, 1}, basis.middleCols(12, 5));
        const Circuits circuits = model.circuits();
        const auto results = test::analysed(circuits, {"embedding_composition"}, pairOptions());
        // ‖E W_V W_O‖ = √5 over √10 · √5; the outputs are orthogonal to W_U, the queries to E.
        QVERIFY(
            std::abs(headNumber(circuits, results, tokenSides + "reads_value", {0, 1}) - 1 / std::sqrt(10.0))
            < 1e-12);
        QVERIFY(headNumber(circuits, results, tokenSides + "writes", {0, 1}) < 1e-7);
        QVERIFY(headNumber(circuits, results, tokenSides + "reads_query", {0, 1}) < 1e-7);
        QVERIFY(headNumber(circuits, results, tokenSides + "reads_value_z", {0, 1}) > 2);
        // Head coordinates do not matter.
        const auto w = circuits.weights().head<double>({1, 0});
        Matrix<double> T = test::orthonormalColumns(5, 5, 3);
        T.row(1) *= 5;
        test::PlantedModel turned(options);
        turned.set("embed.W_E", basis.leftCols(10).transpose());
        turned.set("unembed.W_U", basis.rightCols(10));
        turned.set("W_Q", {1, 0}, w.W_Q * T);
        turned.set("W_K", {1, 0}, w.W_K * test::inverseOf(T).transpose());
        const auto same = test::analysed(turned.circuits(), {"embedding_composition"}, pairOptions());
        for (const char* side : {"reads_query", "reads_key"})
            QVERIFY(std::abs(headNumber(circuits, same, tokenSides + side, {1, 0})
                             - headNumber(circuits, results, tokenSides + side, {1, 0}))
                    < 1e-10);
    }

    void headsNotAskedForAndZeroHeads()
    {
        test::PlantedModel model(test::widePlantedOptions());
        model.set("W_O", {0, 0}, Matrix<double>::Zero(5, 24));
        const Circuits circuits = model.circuits();
        AnalysisOptions options = pairOptions();
        options.heads = {{0, 0}, {1, 1}};
        const auto results = test::analysed(circuits, {"embedding_composition"}, options);
        QVERIFY(std::isnan(headNumber(circuits, results, tokenSides + "writes", {0, 0})));
        QVERIFY(!std::isnan(headNumber(circuits, results, tokenSides + "reads_query", {0, 0})));
        QVERIFY(std::isnan(headNumber(circuits, results, tokenSides + "writes", {0, 1})));
        QVERIFY(!std::isnan(headNumber(circuits, results, tokenSides + "writes", {1, 1})));
    }
};

HEADWISE_TEST(PairAnalysesTest)
#include "pair_analyses_test.moc"
