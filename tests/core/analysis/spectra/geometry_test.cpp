#include "core/base/decompositions.h"
#include "core/circuits/random_matrix.h"

#include "tests/support/changed_toy.h"
#include "tests/support/dense_algebra.h"
#include "tests/support/program.h"
#include "tests/support/toy_classes.h"

#include <algorithm>
#include <cmath>

using namespace headwise;
using test::ChangedToy;

namespace {

std::vector<double> found(const ResultSet& results, const char* path)
{
    return test::numbers(results, std::string("analyses/") + path);
}

void addClasses()
{
    QTest::addColumn<int>("at");
    const auto classes = test::toyClasses();
    for (std::size_t i = 0; i < classes.size(); i += 3)
        QTest::newRow(classes[i].first) << static_cast<int>(i);
}

Circuits classNumber(int at)
{
    return test::toyCircuits(test::toyClasses()[static_cast<std::size_t>(at)].second);
}

bool close(double a, double b, double tolerance = 1e-9)
{
    const bool same =
        std::abs(a - b) <= tolerance * std::max(1.0, std::abs(b)) || (std::isnan(a) && std::isnan(b));
    if (!same)
        qWarning("%.12g, expected %.12g", a, b);
    return same;
}

double excess(const std::vector<double>& norms)
{
    double mean = 0;
    double square = 0;
    for (const double norm : norms)
        mean += norm / static_cast<double>(norms.size());
    for (const double norm : norms)
        square += (norm - mean) * (norm - mean) / (static_cast<double>(norms.size()) - 1);
    double sum = 0;
    for (const double norm : norms)
        sum += std::max(0.0, norm - mean - 2 * std::sqrt(square));
    return sum;
}

struct Expected {
    double symmetry, direction, positive, symmetricNorm, antisymmetricNorm;
};

/// Everything from the dense [d, d] matrix, entry by entry.
Expected denseSymmetry(const Matrix<double>& M)
{
    const Matrix<double> S = (M + M.transpose()) / 2;
    const Matrix<double> A = (M - M.transpose()) / 2;
    std::vector<double> rows;
    std::vector<double> columns;
    for (Eigen::Index i = 0; i < M.rows(); ++i) {
        rows.push_back(M.row(i).norm());
        columns.push_back(M.col(i).norm());
    }
    const double c = excess(columns);
    const double r = excess(rows);
    const test::DenseEigen eigen(S);
    return {S.squaredNorm() / M.squaredNorm(), c + r > 0 ? (c - r) / (c + r) : 0,
            eigen.eigenvalues().cwiseMax(0).sum() / eigen.eigenvalues().cwiseAbs().sum(), S.norm(), A.norm()};
}

double log10Condition(const Matrix<double>& m)
{
    const Eigen::VectorXd sigma = test::singularValuesOf(m);
    return std::log10(sigma(0) / sigma(sigma.size() - 1));
}

} // namespace

class GeometryTest : public QObject {
    Q_OBJECT

private slots:
    void symmetricEigenGivesBackTheMatrix()
    {
        const Matrix<double> half = test::normalNumbers(23, 23, 1);
        const Matrix<double> m = half + half.transpose();
        const auto eigen = symmetricEigen(m);
        QVERIFY(test::isOk(eigen));
        QVERIFY(test::isClose(
            (eigen->vectors * eigen->values.asDiagonal() * eigen->vectors.transpose()).eval(), m, 1e-13));
        QVERIFY(test::isClose((eigen->vectors.transpose() * eigen->vectors).eval(),
                              Matrix<double>::Identity(23, 23), 1e-13));
        QVERIFY(std::is_sorted(eigen->values.begin(), eigen->values.end()));
        Matrix<double> broken = m;
        broken(3, 4) = std::nan("");
        QVERIFY(test::failsWith(symmetricEigen(broken), ErrorCode::Corrupt, "[23, 23]"));
    }

    // M symmetric, antisymmetric, and with one column that stands out.
    void symmetryByHand()
    {
        ChangedToy toy(test::bareAttention());
        const Matrix<double> U = test::orthonormalColumns(7, 5, 1);
        const auto plant = [&](int head, const Matrix<double>& Q, const Matrix<double>& K) {
            toy.set("blocks.0.attn.W_Q", head, Q);
            toy.set("blocks.0.attn.W_K", head, K);
        };
        plant(0, U, U); // positive semidefinite
        Matrix<double> turned = Matrix<double>::Zero(7, 5);
        turned.col(0) = U.col(1);
        turned.col(1) = -U.col(0);
        plant(1, U, turned);                                 // u_0 u_1ᵀ − u_1 u_0ᵀ
        Matrix<double> loudKey = Matrix<double>::Zero(7, 5); // M = 1 e_2ᵀ: every query meets key direction 2
        loudKey(2, 0) = 1;
        plant(2, Matrix<double>::Ones(7, 5), loudKey);
        const auto results = test::analysed(toy.circuits(), {"symmetry"}, test::inDouble());
        const auto symmetry = found(results, "symmetry/symmetry");
        QVERIFY(close(symmetry[0], 1) && close(symmetry[1], 0));
        QVERIFY(close(found(results, "symmetry/positive")[0], 1));
        QVERIFY(close(found(results, "symmetry/positive")[2],
                      denseSymmetry(Matrix<double>::Ones(7, 5) * loudKey.transpose()).positive));
        QCOMPARE(found(results, "symmetry/direction")[2], 1.0); // rows are all alike, one column stands out
        QVERIFY(close(found(results, "symmetry/antisymmetric_norm")[0], 0));
        QVERIFY(close(found(results, "symmetry/antisymmetric_norm")[1], std::sqrt(2.0)));
        const auto eigenvalues = found(results, "symmetry/eigenvalues");
        for (std::size_t i = 0; i < 10; ++i)
            QVERIFY(close(eigenvalues[i], i < 5 ? 1 : 0));
        const Eigen::VectorXd none = Eigen::VectorXd::Zero(7);
        plant(0, Matrix<double>::Zero(7, 5), U);
        const auto zero = test::analysed(toy.circuits(), {"symmetry"}, test::inDouble());
        QVERIFY(std::isnan(found(zero, "symmetry/symmetry")[0])
                && std::isnan(found(zero, "symmetry/direction")[0]));
    }

    void symmetryAgreesWithDenseCircuits_data() { addClasses(); }
    void symmetryAgreesWithDenseCircuits()
    {
        QFETCH(int, at);
        const Circuits circuits = classNumber(at);
        const ModelConfig& config = circuits.config();
        const auto results = test::analysed(circuits, {"symmetry"}, test::inDouble());
        for (int layer = 0; layer < config.nLayers; ++layer) {
            Matrix<double> sum = Matrix<double>::Zero(config.dModel, config.dModel);
            for (int head = 0; head < config.nHeads; ++head) {
                const Matrix<double> M = test::denseCircuit(circuits, CircuitKind::Qk, {layer, head});
                sum += M;
                const Expected expected = denseSymmetry(M);
                const auto i = static_cast<std::size_t>(layer * config.nHeads + head);
                QVERIFY(close(found(results, "symmetry/symmetry")[i], expected.symmetry));
                QVERIFY(close(found(results, "symmetry/direction")[i], expected.direction, 1e-7));
                QVERIFY(close(found(results, "symmetry/positive")[i], expected.positive));
                QVERIFY(close(found(results, "symmetry/symmetric_norm")[i], expected.symmetricNorm));
                QVERIFY(close(found(results, "symmetry/antisymmetric_norm")[i], expected.antisymmetricNorm));
            }
            const Expected expected = denseSymmetry(sum);
            const auto i = static_cast<std::size_t>(layer);
            QVERIFY(close(found(results, "symmetry/layer_symmetry")[i], expected.symmetry));
            QVERIFY(close(found(results, "symmetry/layer_direction")[i], expected.direction, 1e-7));
            QVERIFY(close(found(results, "symmetry/layer_positive")[i], expected.positive));
        }
    }

    // The stated nulls against heads made of random numbers.
    void nullsAreThoseOfRandomWeights()
    {
        test::ToyOptions options = test::bareAttention();
        options.dModel = 60;
        options.dHead = 12;
        options.nHeads = 40;
        ChangedToy toy(options);
        for (int head = 0; head < options.nHeads; ++head) {
            unsigned part = 0;
            for (const char* name : {"W_Q", "W_K", "W_V"})
                toy.set(ChangedToy::attn(0, name), head,
                        test::normalNumbers(60, 12, static_cast<unsigned>(head) * 4 + part++));
            toy.set("blocks.0.attn.W_O", head,
                    test::normalNumbers(12, 60, static_cast<unsigned>(head) * 4 + 3));
        }
        const auto results =
            test::analysed(toy.circuits(), {"symmetry", "bands", "conditioning"}, test::inDouble());
        for (const char* path :
             {"analyses/symmetry/symmetry", "analyses/symmetry/positive", "analyses/symmetry/direction",
              "analyses/bands/dark_writing", "analyses/conditioning/W_Q_head"}) {
            const ResultArray& array = *results.find(path);
            const auto values = test::numbers(results, path);
            const Eigen::Map<const Eigen::ArrayXd> heads(values.data(), 40);
            const double mean = heads.mean();
            const double deviation = std::sqrt((heads - mean).square().mean());
            const double expected = array.nullDeviation.value_or(deviation);
            QVERIFY2(std::abs(mean - *array.nullMean) < 4 * std::max(expected, deviation) / std::sqrt(40.0)
                             + 0.05 * std::abs(*array.nullMean),
                     path);
            QVERIFY2(deviation > 0.6 * expected && deviation < 1.6 * expected, path);
        }
    }

    // Only the upper half of the spectrum of W_U is written to, and only the lower half read.
    void bandsByHand()
    {
        test::ToyOptions options = test::bareAttention();
        options.dModel = 24;
        options.dVocab = 40;
        ChangedToy toy(options);
        const Matrix<double> basis = test::orthonormalColumns(24, 24, 1);
        const Eigen::VectorXd sizes = Eigen::VectorXd::LinSpaced(24, 24, 1);
        const Matrix<double> tokens = test::orthonormalColumns(40, 24, 2);
        toy.set("unembed.W_U", 0, basis * sizes.asDiagonal() * tokens.transpose());
        toy.set("embed.W_E", 0, tokens * sizes.asDiagonal() * basis.transpose());
        const Matrix<double> mix = test::normalNumbers(5, 5, 3);
        toy.set("blocks.0.attn.W_V", 0, basis.rightCols(5) * mix);
        toy.set("blocks.0.attn.W_O", 0, mix * basis.leftCols(5).transpose());
        toy.set("blocks.0.attn.W_Q", 0, basis.middleCols(0, 5));
        toy.set("blocks.0.attn.W_K", 0, basis.middleCols(19, 5));
        const auto results = test::analysed(toy.circuits(), {"bands"}, test::inDouble());
        // 24 vectors in 20 bands: band b ends at ⌊24 (b + 1)/20⌋.
        double written = 0;
        double read = 0;
        for (std::size_t band = 0; band < 20; ++band) {
            const std::size_t first = 24 * band / 20;
            const std::size_t last = 24 * (band + 1) / 20;
            QVERIFY(close(found(results, "bands/null")[band], static_cast<double>(last - first) / 24));
            double energy = 0;
            for (std::size_t i = first; i < last; ++i)
                energy += sizes(static_cast<Eigen::Index>(i)) * sizes(static_cast<Eigen::Index>(i));
            QVERIFY(close(found(results, "bands/unembedding")[band], energy / sizes.squaredNorm()));
            QVERIFY(close(found(results, "bands/embedding")[band], energy / sizes.squaredNorm()));
            written += first < 5 ? found(results, "bands/ov_write")[band] : 0;
            read += first >= 19 ? found(results, "bands/ov_read")[band] : 0;
            // orthonormal factors: even over their vectors
            QVERIFY(close(found(results, "bands/qk_query")[band],
                          first < 5 ? static_cast<double>(std::min<std::size_t>(last, 5) - first) / 5 : 0));
            QVERIFY(close(found(results, "bands/qk_key")[band],
                          last > 19 ? static_cast<double>(last - std::max<std::size_t>(first, 19)) / 5 : 0));
        }
        QVERIFY(close(written, 1) && close(read, 1));
        QVERIFY(close(found(results, "bands/dark_writing")[0], 0));
    }

    void bandsAgreeWithDenseCircuits_data() { addClasses(); }
    void bandsAgreeWithDenseCircuits()
    {
        QFETCH(int, at);
        const Circuits circuits = classNumber(at);
        const ModelConfig& config = circuits.config();
        const auto results = test::analysed(circuits, {"bands"}, test::inDouble());
        const int bands = std::min(20, config.dModel); // one vector each in models this small
        const auto projectors = [&](const Matrix<double>& gram, int band) {
            const test::DenseEigen eigen(gram);
            const Matrix<double> v = eigen.eigenvectors().rowwise().reverse();
            return Matrix<double>(v.middleCols(config.dModel * band / bands, 1)
                                  * v.middleCols(config.dModel * band / bands, 1).transpose());
        };
        if (config.dModel > 20)
            return;
        const Matrix<double> E = circuits.weights().W_E<double>(0, config.dVocab);
        const Matrix<double> W_U = circuits.weights().W_U<double>(0, config.dVocabOut);
        const HeadId head{config.nLayers - 1, 0};
        const Matrix<double> ov = test::denseCircuit(circuits, CircuitKind::Ov, head);
        const Matrix<double> qk = test::denseCircuit(circuits, CircuitKind::Qk, head);
        const auto list = static_cast<std::size_t>(head.layer * config.nHeads * bands);
        for (int band = 0; band < bands; ++band) {
            const std::size_t i = list + static_cast<std::size_t>(band);
            const Matrix<double> out = projectors(W_U * W_U.transpose(), band);
            const Matrix<double> in = projectors(E.transpose() * E, band);
            QVERIFY(close(found(results, "bands/ov_write")[i], (ov * out).squaredNorm() / ov.squaredNorm(),
                          1e-7));
            QVERIFY(
                close(found(results, "bands/ov_read")[i], (in * ov).squaredNorm() / ov.squaredNorm(), 1e-7));
            QVERIFY(
                close(found(results, "bands/qk_query")[i], (in * qk).squaredNorm() / qk.squaredNorm(), 1e-7));
            QVERIFY(
                close(found(results, "bands/qk_key")[i], (qk * in).squaredNorm() / qk.squaredNorm(), 1e-7));
        }
    }

    /// W_U [24, 11] and E [11, 24] leave 13 directions without an order: their span alone has numbers.
    void aNullSpaceWiderThanABandIsTakenAsAWhole()
    {
        test::ToyOptions options = test::bareAttention();
        options.dModel = 24;
        const Circuits circuits = test::toyCircuits(options, test::noProcessing());
        const auto exact = test::analysed(circuits, {"bands"}, test::inDouble());
        const auto single = test::analysed(circuits, {"bands"});
        for (const ResultArray& array : exact.arrays) {
            const auto a = test::numbers(exact, array.path), b = test::numbers(single, array.path);
            for (std::size_t i = 0; i < a.size(); ++i)
                QVERIFY2(close(a[i], b[i], 1e-6), array.path.c_str());
        }
        const test::DenseSvd svd(circuits.weights().W_U<double>(0, 11));
        const Matrix<double> read = svd.matrixU().leftCols(11), unread = svd.matrixU().rightCols(13);
        const auto written = found(exact, "bands/ov_write");
        for (int head = 0; head < 6; ++head) {
            const Matrix<double> ov = test::denseCircuit(circuits, CircuitKind::Ov, {head / 3, head % 3});
            const double dark = (ov * unread).squaredNorm() / ov.squaredNorm();
            QVERIFY(close(found(exact, "bands/dark_writing")[static_cast<std::size_t>(head)], dark));
            double sum = 0; // vectors 11 and on are bands 9 to 19, and each counts as the mean of them
            for (std::size_t band = 9; band < 20; ++band) {
                const std::size_t width = 24 * (band + 1) / 20 - std::max<std::size_t>(24 * band / 20, 11);
                const double own = band == 9 ? (ov * read.rightCols(1)).squaredNorm() / ov.squaredNorm() : 0;
                const double share = written[static_cast<std::size_t>(head) * 20 + band];
                if (24 * band / 20 >= 11)
                    QVERIFY(close(share, dark * static_cast<double>(width) / 13));
                sum += share - (24 * band / 20 < 11 ? own : 0);
            }
            QVERIFY(close(sum, dark));
        }
        const ResultArray& dark = *exact.find("analyses/bands/dark_writing");
        QVERIFY(close(*dark.nullMean, 13.0 / 24));
        QCOMPARE(std::get<double>(dark.attributes.at("directions")), 13.0);
        QCOMPARE(exact.warnings.size(), std::size_t(2));
        QVERIFY2(exact.warnings[0].find("W_U has rank 11 of 24") != std::string::npos,
                 exact.warnings[0].c_str());
    }

    void conditionsByHand()
    {
        test::ToyOptions options = test::gpt2Options(); // 3 heads of 5: square
        const Circuits circuits = test::toyCircuits(options);
        const auto results = test::analysed(circuits, {"conditioning"}, test::inDouble());
        const ModelWeights& weights = circuits.weights().original();
        for (int layer = 0; layer < 2; ++layer) {
            Matrix<double> Q(15, 15);
            Matrix<double> O(15, 15);
            for (int head = 0; head < 3; ++head) {
                Q.middleCols(head * 5, 5) = weights.read<double>(TensorKind::W_Q, layer, head);
                O.middleRows(head * 5, 5) = weights.read<double>(TensorKind::W_O, layer, head);
                const auto i = static_cast<std::size_t>(layer * 3 + head);
                QVERIFY(close(found(results, "conditioning/W_Q_head")[i],
                              log10Condition(weights.read<double>(TensorKind::W_Q, layer, head))));
                QVERIFY(close(found(results, "conditioning/W_O_head")[i],
                              log10Condition(weights.read<double>(TensorKind::W_O, layer, head))));
            }
            const auto i = static_cast<std::size_t>(layer);
            QVERIFY(std::abs(found(results, "conditioning/W_Q_layer")[i] - log10Condition(Q)) < 0.03);
            QVERIFY(std::abs(found(results, "conditioning/W_O_layer")[i] - log10Condition(O)) < 0.03);
            QCOMPARE(found(results, "conditioning/W_Q_invertible_fp32")[i], 1.0);
            QCOMPARE(found(results, "conditioning/W_Q_invertible_bf16")[i],
                     log10Condition(Q) < std::log10(256) ? 1.0 : 0.0);
        }
        // Grouped: K and V are not square, and Q is not either in this toy.
        const Circuits grouped = test::toyCircuits(test::llamaOptions());
        const auto none = test::analysed(grouped, {"conditioning"}, test::inDouble());
        QVERIFY(std::isnan(found(none, "conditioning/W_K_layer")[0]));
        QCOMPARE(found(none, "conditioning/W_K_invertible_fp32")[1], -1.0);
        // Query head 4 of 6 reads key/value head 1 of 2.
        QVERIFY(close(found(none, "conditioning/W_V_head")[4],
                      log10Condition(grouped.weights().original().read<double>(TensorKind::W_V, 0, 1))));
    }

    /// Three query heads of 4 make a square in a residual stream of 12, their one key/value head does not.
    void keysOfAGroupAreNotTakenForEveryHeads()
    {
        test::ToyOptions options;
        options.dModel = 12;
        options.nHeads = 3;
        options.dHead = 4;
        options.nKvHeads = 1;
        const Circuits circuits = test::toyCircuits(options);
        const auto results = test::analysed(circuits, {"conditioning"}, test::inDouble());
        const ModelWeights& weights = circuits.weights().original();
        Matrix<double> Q(12, 12), O(12, 12);
        for (int head = 0; head < 3; ++head) {
            Q.middleCols(head * 4, 4) = weights.read<double>(TensorKind::W_Q, 1, head);
            O.middleRows(head * 4, 4) = weights.read<double>(TensorKind::W_O, 1, head);
        }
        QVERIFY(std::abs(found(results, "conditioning/W_Q_layer")[1] - log10Condition(Q)) < 0.03);
        QVERIFY(std::abs(found(results, "conditioning/W_O_layer")[1] - log10Condition(O)) < 0.03);
        QVERIFY(std::isnan(found(results, "conditioning/W_K_layer")[1]));
        QVERIFY(std::isnan(found(results, "conditioning/W_V_layer")[1]));
    }

    void aLostRankIsInfinite()
    {
        test::ToyOptions options = test::bareAttention();
        options.dModel = 15;
        ChangedToy toy(options);
        Matrix<double> Q = toy.matrix("blocks.1.attn.W_Q", 2);
        Q.col(4).setZero();
        toy.set("blocks.1.attn.W_Q", 2, Q);
        const auto results = test::analysed(toy.circuits(), {"conditioning"}, test::inDouble());
        QVERIFY(found(results, "conditioning/W_Q_head")[5] > 15);
        QVERIFY(found(results, "conditioning/W_Q_layer")[1] > 15);
        QCOMPARE(found(results, "conditioning/W_Q_invertible_fp32")[1], 0.0);
        QCOMPARE(found(results, "conditioning/W_Q_invertible_fp32")[0], 1.0);
    }

    void doNotSeeTheGauge()
    {
        ChangedToy toy(test::bareAttention());
        const auto before = test::analysed(toy.circuits(), {"symmetry", "bands"}, test::inDouble());
        const Matrix<double> T = test::normalNumbers(5, 5, 3) + 3 * Matrix<double>::Identity(5, 5);
        toy.set("blocks.0.attn.W_Q", 1, toy.matrix("blocks.0.attn.W_Q", 1) * T);
        toy.set("blocks.0.attn.W_K", 1, toy.matrix("blocks.0.attn.W_K", 1) * test::inverseOf(T).transpose());
        toy.set("blocks.0.attn.W_V", 1, toy.matrix("blocks.0.attn.W_V", 1) * T);
        toy.set("blocks.0.attn.W_O", 1, test::inverseOf(T) * toy.matrix("blocks.0.attn.W_O", 1));
        Task one;
        one.threads = 1;
        const auto after = test::analysed(toy.circuits(), {"symmetry", "bands"}, test::inDouble(), one);
        for (const ResultArray& array : before.arrays) {
            const auto a = test::numbers(after, array.path);
            const auto b = test::numbers(before, array.path);
            for (std::size_t i = 0; i < a.size(); ++i)
                QVERIFY2(close(a[i], b[i], 1e-8), array.path.c_str());
        }
    }

    void otherHeadsAreLeftOut()
    {
        AnalysisOptions options = test::inDouble();
        options.heads = {{1, 1}};
        const auto results =
            test::analysed(test::toyCircuits({}), {"symmetry", "bands", "conditioning"}, options);
        for (const char* path : {"symmetry/symmetry", "bands/dark_writing", "conditioning/W_V_head"}) {
            QVERIFY(std::isnan(found(results, path)[0]));
            QVERIFY(!std::isnan(found(results, path)[4]));
        }
        QVERIFY(std::isnan(found(results, "symmetry/layer_symmetry")[0]));
        QVERIFY(!std::isnan(found(results, "symmetry/layer_symmetry")[1]));
    }
};

HEADWISE_TEST(GeometryTest)
#include "geometry_test.moc"
