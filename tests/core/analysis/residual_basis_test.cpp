#include "core/analysis/residual_basis.h"
#include "core/runs/queue.h"

#include "tests/support/dense_algebra.h"
#include "tests/support/planted.h"
#include "tests/support/program.h"
#include "tests/support/toy_classes.h"

#include <algorithm>
#include <array>
#include <cmath>

using namespace headwise;

namespace {

AnalysisOptions byEmbedding(Embedding embedding = Embedding::Raw)
{
    AnalysisOptions options;
    options.precision = Precision::F64;
    options.embedding = embedding;
    options.inputs.metric = ResidualMetric::Embedding;
    options.inputs.pair = std::pair(HeadId{0, 1}, HeadId{1, 2});
    return options;
}

AnalysisOptions byIdentity(AnalysisOptions options)
{
    options.inputs.metric = ResidualMetric::Identity;
    return options;
}

std::shared_ptr<const ResidualBasis> basisOf(const Circuits& circuits)
{
    const auto basis = embeddingBasis(*test::tokensOf(circuits, Embedding::Raw, Precision::F64), {});
    if (!basis)
        qFatal("%s", test::printed(basis.error()).constData());
    return std::make_shared<const ResidualBasis>(*basis);
}

double difference(const Matrix<double>& a, const Matrix<double>& b)
{
    return (a - b).cwiseAbs().maxCoeff() / b.cwiseAbs().maxCoeff();
}

Matrix<double> covariance(const Matrix<double>& rows)
{
    const Matrix<double> centred = rows.rowwise() - rows.colwise().mean();
    return centred.transpose() * centred / static_cast<double>(rows.rows());
}

/// Relative to the largest; 0 for two empty ones.
double distance(const std::vector<double>& a, const std::vector<double>& b)
{
    double most = 0, largest = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (std::isnan(a[i]) && std::isnan(b[i]))
            continue;
        most = std::max(most, std::abs(a[i] - b[i]));
        largest = std::max(largest, std::abs(b[i]));
    }
    return largest > 0 ? most / largest : most;
}

double between(const ResultSet& results, const std::string& path, const ModelConfig& config, HeadId earlier,
               HeadId later)
{
    const auto flat = [&](HeadId head) {
        return static_cast<std::size_t>(head.layer * config.nHeads + head.head);
    };
    const auto heads = static_cast<std::size_t>(config.nLayers * config.nHeads);
    return test::numbers(results, path)[flat(earlier) * heads + flat(later)];
}

/// 14 tokens ± a_i e_i, which vary by a_i²/7 along every axis, and two that no text has.
Matrix<double> axisTokens(const Eigen::VectorXd& a)
{
    Matrix<double> E = Matrix<double>::Constant(16, 7, 50);
    E.topRows(14).setZero();
    E(14, 3) = -300;
    for (Eigen::Index i = 0; i < 7; ++i) {
        E(2 * i, i) = a(i);
        E(2 * i + 1, i) = -a(i);
    }
    return E;
}

TokenSide tokensWith(const Matrix<double>& E)
{
    TokenSide tokens;
    tokens.E = TokenMatrix(TokenMatrix::Vectors::Rows, Matrix<float>(E.cast<float>()));
    tokens.EtE = E.transpose() * E;
    return tokens;
}

std::vector<const Analysis*> followers()
{
    std::vector<const Analysis*> found;
    for (const Analysis& analysis : catalogue()) {
        if (analysis.followsMetric)
            found.push_back(&analysis);
    }
    return found;
}

} // namespace

/// Lengths in the residual stream measured by the embedding's covariance.
class ResidualBasisTest : public QObject {
    Q_OBJECT

private slots:
    /// Products of a writing and a reading part do not depend on the basis.
    void productsStay()
    {
        for (const auto& [name, options] : test::toyClasses()) {
            const Circuits circuits = test::toyCircuits(options);
            const ProcessedWeights& as = circuits.weights();
            const ProcessedWeights in = as.inBasis(basisOf(circuits));
            const ModelConfig& config = as.config();
            const HeadWeights<double> a = as.head<double>({0, 1}), b = as.head<double>({1, 0}),
                                      c = in.head<double>({0, 1}), d = in.head<double>({1, 0});
            const Matrix<double> W_E = as.W_E<double>(0, config.dVocab),
                                 X_E = in.W_E<double>(0, config.dVocab),
                                 W_U = as.W_U<double>(0, config.dVocabOut),
                                 X_U = in.W_U<double>(0, config.dVocabOut);
            QVERIFY2(difference(c.W_O * d.W_Q, a.W_O * b.W_Q) < 1e-12, name);
            QVERIFY2(difference(c.W_O * d.W_K, a.W_O * b.W_K) < 1e-12, name);
            QVERIFY2(difference(c.W_O * d.W_V, a.W_O * b.W_V) < 1e-12, name);
            QVERIFY2(difference(X_E * c.W_Q, W_E * a.W_Q) < 1e-12, name);
            QVERIFY2(difference(c.W_O * X_U, a.W_O * W_U) < 1e-12, name);
            QVERIFY2(difference(X_E * X_U, W_E * W_U) < 1e-12, name);
            QVERIFY2(difference(in.b_O<double>(0) * X_U, as.b_O<double>(0) * W_U) < 1e-12
                         || as.b_O<double>(0).isZero(),
                     name);
            QVERIFY2(difference(c.W_Q, a.W_Q) > 1e-3, name); // the basis did change
            if (config.attentionOnly)
                continue;
            const MlpWeights<double> m = as.mlp<double>(0), n = in.mlp<double>(0);
            if (m.experts.empty()) {
                QVERIFY2(difference(X_E * n.W_in, W_E * m.W_in) < 1e-12, name);
                QVERIFY2(difference(n.W_out * X_U, m.W_out * W_U) < 1e-12, name);
            }
        }
    }

    void halvesOfAHeadAreThoseOfTheWhole()
    {
        for (const auto& [name, options] : test::toyClasses()) {
            const Circuits circuits = test::toyCircuits(options);
            for (const ProcessedWeights& weights :
                 {circuits.weights(), circuits.weights().inBasis(basisOf(circuits)),
                  circuits.weights().rounded(Rounding::BFloat16)}) {
                const auto whole = weights.head<double>({0, 1}),
                           qk = weights.head<double>({0, 1}, HeadParts::QueriesAndKeys),
                           ov = weights.head<double>({0, 1}, HeadParts::ValuesAndOutput);
                QVERIFY2(qk.W_Q == whole.W_Q && qk.W_K == whole.W_K, name);
                QVERIFY2(qk.b_Q == whole.b_Q && qk.b_K == whole.b_K, name);
                QVERIFY2(ov.W_V == whole.W_V && ov.W_O == whole.W_O && ov.b_V == whole.b_V, name);
                QCOMPARE(qk.W_V.size() + qk.W_O.size() + ov.W_Q.size() + ov.W_K.size(), Eigen::Index(0));
            }
        }
    }

    /// The total variance stays, equal in every direction; centred rows have one direction less.
    void theEmbeddingVariesAlikeInEveryDirection()
    {
        for (const bool isCentred : {false, true}) {
            const Circuits circuits =
                test::toyCircuits({}, isCentred ? ProcessingWish{} : test::noProcessing());
            const ModelConfig& config = circuits.config();
            const Matrix<double> before = covariance(circuits.weights().W_E<double>(0, config.dVocab));
            const Matrix<double> after =
                covariance(circuits.weights().inBasis(basisOf(circuits)).W_E<double>(0, config.dVocab));
            const Eigen::VectorXd spread = test::DenseEigen(after).eigenvalues();
            const int without = isCentred ? 1 : 0;
            const double usual = before.trace() / (config.dModel - without);
            for (Eigen::Index i = 0; i < spread.size(); ++i)
                QVERIFY(std::abs(spread(i) - (i < without ? 0 : usual)) < 1e-12 * usual);
        }
    }

    // Σ^½ from the singular values of the centred rows; its scale cancels in every score.
    void compositionIsThatOfDenseRoots()
    {
        test::ToyOptions options;
        options.float64 = true;
        const Circuits circuits = test::toyCircuits(options, test::noProcessing());
        const ModelConfig& config = circuits.config();
        const Matrix<double> E = circuits.weights().W_E<double>(0, config.dVocab);
        const test::DenseSvd svd(Matrix<double>(E.rowwise() - E.colwise().mean()));
        const Eigen::VectorXd s = svd.singularValues();
        const Matrix<double> root = svd.matrixV() * s.asDiagonal() * svd.matrixV().transpose();
        const Matrix<double> back = svd.matrixV() * s.cwiseInverse().asDiagonal() * svd.matrixV().transpose();
        const auto results = test::analysed(circuits, {"composition"}, byEmbedding());
        for (int earlier = 0; earlier < config.nHeads; ++earlier) {
            for (int later = 0; later < config.nHeads; ++later) {
                const Matrix<double> ov =
                    root * test::denseCircuit(circuits, CircuitKind::Ov, {0, earlier}) * back;
                const Matrix<double> qk =
                    root * test::denseCircuit(circuits, CircuitKind::Qk, {1, later}) * root;
                const Matrix<double> next =
                    root * test::denseCircuit(circuits, CircuitKind::Ov, {1, later}) * back;
                const std::array<std::pair<const char*, double>, 3> expected{
                    {{"composition/q", (ov * qk).norm() / ov.norm() / qk.norm()},
                     {"composition/k", (ov * qk.transpose()).norm() / ov.norm() / qk.norm()},
                     {"composition/v", (ov * next).norm() / ov.norm() / next.norm()}}};
                for (const auto& [path, score] : expected)
                    QVERIFY(std::abs(between(results, path, config, {0, earlier}, {1, later}) - score)
                            < 1e-12);
            }
        }
    }

    /// Norms keep their scale: T⁻¹ = Σ^½ / √(mean eigenvalue).
    void normsAreThoseOfTheScaledRoot()
    {
        test::ToyOptions options;
        options.float64 = true;
        const Circuits circuits = test::toyCircuits(options, test::noProcessing());
        const ModelConfig& config = circuits.config();
        const Matrix<double> sigma = covariance(circuits.weights().W_E<double>(0, config.dVocab));
        const Matrix<double> scaled = sigma * config.dModel / sigma.trace();
        const auto results = test::analysed(circuits, {"norms", "spectra"}, byEmbedding());
        const auto norms = test::numbers(results, "analyses/norms/W_Q");
        const auto ofOutputs = test::numbers(results, "analyses/norms/W_O");
        for (int head = 0; head < config.nHeads; ++head) {
            const auto w = circuits.weights().head<double>({1, head});
            const auto index = static_cast<std::size_t>(config.nHeads + head);
            const double read = (w.W_Q.transpose() * scaled * w.W_Q).trace();
            const double written = (w.W_O * test::inverseOf(scaled) * w.W_O.transpose()).trace();
            QVERIFY(std::abs(norms[index] - std::sqrt(read)) < 1e-11 * std::sqrt(read));
            QVERIFY(std::abs(ofOutputs[index] - std::sqrt(written)) < 1e-11 * std::sqrt(written));
        }
    }

    /// Tokens on both sides: the basis of the stream between them does not matter.
    void fullCircuitsAreAsTheyWere()
    {
        for (const Embedding embedding :
             {Embedding::Raw, Embedding::Effective, Embedding::Mlp0, Embedding::Unembed}) {
            const Circuits circuits = test::toyCircuits({});
            const AnalysisOptions options = byEmbedding(embedding);
            const auto in = test::analysed(circuits, {"spectra", "similarity"}, options);
            const auto as = test::analysed(circuits, {"spectra", "similarity"}, byIdentity(options));
            for (const char* path : {"spectra/full_qk/singular_values", "spectra/full_ov/singular_values",
                                     "spectra/full_ov/effective_rank", "analyses/similarity/token_jaccard"}) {
                const double apart = distance(test::numbers(in, path), test::numbers(as, path));
                QVERIFY2(apart < 1e-10, qPrintable(QStringLiteral("%1: %2").arg(path).arg(apart)));
            }
            for (const char* path : {"spectra/qk/singular_values", "spectra/ov/frobenius_norm",
                                     "analyses/similarity/cosine_ov", "analyses/similarity/cka_ov"})
                QVERIFY2(distance(test::numbers(in, path), test::numbers(as, path)) > 1e-3, path);
        }
    }

    // Reading q = (1, 1) along two axes with variances 100 and 1: a written e₀ is 1/√2 of it in the identity metric, and
    // 10/√101 if its length is 10 times the usual; (3, 4)/5 is 7/√50 of it, and 7/√(16.09 · 101).
    void theMetricChangesWhoComposes()
    {
        test::ToyOptions options = test::plantedOptions();
        options.dVocab = 16;
        test::PlantedModel model(options);
        Eigen::VectorXd a = Eigen::VectorXd::Ones(7);
        a(0) = 10;
        model.set("embed.W_E", axisTokens(a));
        Matrix<double> reads = Matrix<double>::Zero(7, 5), writes = Matrix<double>::Zero(5, 7);
        reads(0, 0) = reads(1, 0) = 1;
        model.set("W_V", {1, 2}, reads);
        writes(0, 0) = 1;
        model.set("W_O", {0, 0}, writes);
        writes(0, 0) = 0.6;
        writes(0, 1) = 0.8;
        model.set("W_O", {0, 1}, writes);
        const Circuits circuits = model.circuits();
        AnalysisOptions asked = byEmbedding();
        asked.unusedTokens.assign(16, false);
        asked.unusedTokens[14] = asked.unusedTokens[15] = true;
        const auto score = [&](const AnalysisOptions& with, int head) {
            return between(test::analysed(circuits, {"composition"}, with), "composition/v",
                           circuits.config(), {0, head}, {1, 2});
        };
        QVERIFY(std::abs(score(byIdentity(asked), 0) - 1 / std::sqrt(2.0)) < 1e-12);
        QVERIFY(std::abs(score(byIdentity(asked), 1) - 7 / std::sqrt(50.0)) < 1e-12);
        QVERIFY(std::abs(score(asked, 0) - 10 / std::sqrt(101.0)) < 1e-12);
        QVERIFY(std::abs(score(asked, 1) - 7 / std::sqrt(16.09 * 101)) < 1e-12);
        asked.unusedTokens.clear(); // tokens that no text has are then of the embedding too
        QVERIFY(std::abs(score(asked, 0) - 10 / std::sqrt(101.0)) > 0.01);
    }

    /// One of eight directions has no variance: T leaves it unchanged.
    void whatDoesNotVaryStays()
    {
        Eigen::VectorXd a = Eigen::VectorXd::Ones(7);
        a(2) = 3;
        a(5) = 0;
        const TokenSide tokens = tokensWith(axisTokens(a).topRows(14));
        const auto basis = embeddingBasis(tokens, {});
        QVERIFY(bool(basis));
        const double usual = 14.0 / 6; // mean of 1, 1, 9, 1, 1, 1
        Eigen::VectorXd expected = Eigen::VectorXd::Constant(7, std::sqrt(usual));
        expected(2) = std::sqrt(usual) / 3;
        expected(5) = 1;
        QVERIFY(difference(basis->T, expected.asDiagonal().toDenseMatrix()) < 1e-14);
        QVERIFY(difference(basis->inverse, expected.cwiseInverse().asDiagonal().toDenseMatrix()) < 1e-14);
    }

    void whatHasNoCovarianceIsRefused()
    {
        const Matrix<double> same = Matrix<double>::Constant(9, 4, 0.1);
        QVERIFY(
            test::failsWith(embeddingBasis(tokensWith(same), {}), ErrorCode::InvalidArgument, "the same"));
        Matrix<double> broken = Matrix<double>::Identity(4, 4);
        QVERIFY(bool(embeddingBasis(tokensWith(broken), {})));
        QVERIFY(test::failsWith(embeddingBasis(tokensWith(broken), {true, true, true}),
                                ErrorCode::InvalidArgument, "fewer than two"));
        broken(1, 2) = std::nan("");
        QVERIFY(
            test::failsWith(embeddingBasis(tokensWith(broken), {}), ErrorCode::Corrupt, "NaN or infinity"));
    }

    /// Every array names its metric; analyses that do not follow it are unchanged.
    void arraysSayWhatTheyWereMeasuredBy()
    {
        const Circuits circuits = test::toyCircuits({});
        const AnalysisOptions options = byEmbedding();
        const auto found = runAnalyses(circuits, followers(), options, Task{});
        QVERIFY(bool(found));
        QVERIFY(followers().size() >= 9);
        for (const ResultArray& array : found->arrays) {
            QVERIFY2(array.attributes.count("metric") == 1, array.path.c_str());
            QCOMPARE(std::get<std::string>(array.attributes.at("metric")),
                     std::string("embedding covariance"));
            QCOMPARE(std::get<std::string>(array.attributes.at("embedding")), std::string("raw"));
            QVERIFY2(array.definition.find("embedding covariance") != std::string::npos, array.path.c_str());
        }
        const auto others = test::analysed(circuits, {"eigenvalues", "copying", "virtual_head"}, options);
        QCOMPARE(others,
                 test::analysed(circuits, {"eigenvalues", "copying", "virtual_head"}, byIdentity(options)));
        QVERIFY(test::analysed(circuits, {"composition"}, byIdentity(options))
                    .arrays[0]
                    .attributes.count("metric")
                == 0);
    }

    void theEstimateKnowsOfTheBasis()
    {
        const Circuits circuits = test::toyCircuits({});
        const ModelConfig& config = circuits.config();
        const AnalysisOptions in = byEmbedding();
        for (const Analysis* analysis : followers()) {
            const AnalysisCost as = runCost(*analysis, config, byIdentity(in));
            QCOMPARE(as.flops, analysis->cost(config, in).flops);
            QVERIFY(runCost(*analysis, config, in).flops > as.flops);
        }
        const Analysis& other = *findAnalysis("eigenvalues");
        QCOMPARE(runCost(other, config, in).flops, other.cost(config, in).flops);
    }

    void metricsHaveNames()
    {
        for (const ResidualMetric metric : {ResidualMetric::Identity, ResidualMetric::Embedding})
            QCOMPARE(parseMetric(metricName(metric)).value(), metric);
        QVERIFY(!parseMetric("euclid"));
    }
};

HEADWISE_TEST(ResidualBasisTest)
#include "residual_basis_test.moc"
