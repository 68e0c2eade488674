#include "core/analysis/position/previous_token_null.h"
#include "core/analysis/shared/random_heads.h"

#include "tests/core/analysis/small_models.h"
#include "tests/support/dense_algebra.h"
#include "tests/support/planted.h"
#include "tests/support/program.h"
#include "tests/support/toy_classes.h"

#include <algorithm>
#include <cmath>
#include <random>

using namespace headwise;
using test::allHeads;
using test::number;
using test::numbers;

namespace {

const std::string normsFolder = "analyses/norms/";

AnalysisOptions normsOptions(std::uint64_t seed = 0)
{
    AnalysisOptions options;
    options.precision = Precision::F64;
    options.inputs.seed = seed;
    return options;
}

Matrix<double> gaussianWithDeviation(Eigen::Index rows, Eigen::Index cols, double deviation,
                                     std::mt19937& random)
{
    std::normal_distribution<double> normal(0, deviation);
    return Matrix<double>::NullaryExpr(rows, cols, [&] { return normal(random); });
}

constexpr int d = 60, r = 8, V = 101, heads = 12, layers = 2;

/// Gaussian heads, each factor with its own scale, and an anisotropic embedding.
Circuits randomHeadsOf(const char* positional)
{
    test::ToyOptions options = test::plantedOptions();
    options.dModel = d, options.dHead = r, options.dVocab = V, options.nHeads = heads,
    options.nLayers = layers;
    options.qkvBias = true;
    options.positional = positional;
    options.nCtx = 40;
    test::PlantedModel model(options);
    std::mt19937 random(7);
    for (int i = 0; i < heads * layers; ++i) {
        const HeadId head{i / heads, i % heads};
        model.set("W_Q", head, gaussianWithDeviation(d, r, 0.3, random));
        model.set("W_K", head, gaussianWithDeviation(d, r, 0.05, random));
        model.set("W_V", head, gaussianWithDeviation(d, r, 0.7, random));
        model.set("W_O", head, gaussianWithDeviation(r, d, 0.2, random));
        model.set("b_Q", head, gaussianWithDeviation(1, r, 0.4, random));
        model.set("b_K", head, gaussianWithDeviation(1, r, 0.1, random));
        model.set("b_V", head, gaussianWithDeviation(1, r, 0.6, random));
    }
    Matrix<double> E = gaussianWithDeviation(V, d, 1, random);
    E.leftCols(20) *= 4;
    model.set("embed.W_E", E);
    model.set("unembed.W_U", gaussianWithDeviation(d, V, 0.5, random));
    return model.circuits();
}

struct Spread {
    double mean = 0, deviation = 0;
};

Spread spreadOf(const std::vector<double>& values)
{
    const Eigen::Map<const Eigen::ArrayXd> all(values.data(), static_cast<Eigen::Index>(values.size()));
    return {all.mean(),
            std::sqrt((all - all.mean()).square().sum() / static_cast<double>(values.size() - 1))};
}

} // namespace

/// Norms of heads, their factors and biases, and the nulls of random heads.
class NormsTest : public QObject {
    Q_OBJECT

private slots:
    void normsAreThoseOfTheDenseMatrices_data()
    {
        QTest::addColumn<int>("index");
        QTest::addColumn<bool>("isRaw");
        const auto classes = test::toyClasses();
        for (std::size_t i = 0; i < classes.size(); ++i)
            for (const bool isRaw : {false, true})
                QTest::addRow("%s%s", classes[i].first, isRaw ? ", raw" : "") << static_cast<int>(i) << isRaw;
    }
    void normsAreThoseOfTheDenseMatrices()
    {
        QFETCH(int, index);
        QFETCH(bool, isRaw);
        const Circuits circuits =
            test::toyCircuits(test::toyClasses()[static_cast<std::size_t>(index)].second,
                              isRaw ? test::noProcessing() : ProcessingWish{});
        const ModelConfig& config = circuits.config();
        const ResultSet results = test::analysed(circuits, {"norms"}, normsOptions());
        const auto isNumber = [&](const std::string& name, HeadId head, double expected) {
            if (!results.find(normsFolder + name)) // no head has such a bias
                return expected == 0;
            const double found = number(circuits, results, normsFolder + name, head);
            return std::abs(found - expected) <= 1e-6 * (expected + 1e-9);
        };
        std::map<std::string, std::vector<double>> sums;
        for (const HeadId head : allHeads(circuits)) {
            const auto w = circuits.weights().head<double>(head);
            for (const auto& [kind, name] :
                 {std::pair(CircuitKind::Qk, "qk"), std::pair(CircuitKind::Ov, "ov")}) {
                const Matrix<double> dense = test::denseCircuit(circuits, kind, head);
                const double spectral = test::singularValuesOf(dense)(0);
                QVERIFY2(isNumber(std::string(name) + "_spectral", head, spectral), name);
                for (const auto& [array, value] :
                     {std::pair("_by_layer", dense.norm()), std::pair("_spectral_by_layer", spectral)}) {
                    auto& sum = sums[std::string(name) + array];
                    sum.resize(static_cast<std::size_t>(config.nLayers));
                    sum[static_cast<std::size_t>(head.layer)] += value / config.nHeads;
                }
            }
            QVERIFY(isNumber("W_Q", head, w.W_Q.norm()) && isNumber("W_K", head, w.W_K.norm()));
            QVERIFY(isNumber("W_V", head, w.W_V.norm()) && isNumber("W_O", head, w.W_O.norm()));
            QVERIFY(isNumber("b_Q", head, w.b_Q.norm()) && isNumber("b_K", head, w.b_K.norm()));
            QVERIFY(isNumber("b_V", head, w.b_V.norm()));
            QVERIFY(isNumber("b_Q_W_K", head, (w.W_K * w.b_Q.transpose()).norm()));
            QVERIFY(isNumber("b_V_W_O", head, (w.W_O.transpose() * w.b_V.transpose()).norm()));
        }
        for (const auto& [name, expected] : sums) {
            const auto found = numbers(results, normsFolder + name);
            for (std::size_t layer = 0; layer < expected.size(); ++layer)
                QVERIFY2(std::abs(found[layer] - expected[layer]) < 1e-6 * expected[layer], name.c_str());
        }
        for (int layer = 0; layer < config.nLayers; ++layer) {
            const double expected = circuits.weights().b_O<double>(layer).norm();
            const ResultArray* b_O = results.find(normsFolder + "b_O");
            QVERIFY(b_O ? std::abs(numbers(results, normsFolder + "b_O")[static_cast<std::size_t>(layer)]
                                   - expected)
                            < 1e-12
                        : expected == 0);
        }
    }

    // W_Q T and W_K T⁻ᵀ are the same head: invariant norms stay, basis-dependent ones change.
    void anotherBasisInsideTheHeadChangesWhatWarns()
    {
        test::ToyOptions options = test::plantedOptions();
        options.dModel = 24, options.nHeads = 2;
        test::PlantedModel model(options);
        const ResultSet before = test::analysed(model.circuits(), {"norms"}, normsOptions());
        const auto w = model.circuits().weights().head<double>({0, 0});
        std::mt19937 random(1);
        const Matrix<double> T = gaussianWithDeviation(5, 5, 1, random);
        model.set("W_Q", {0, 0}, w.W_Q * T);
        model.set("W_K", {0, 0}, w.W_K * test::inverseOf(T).transpose());
        model.set("W_V", {0, 0}, w.W_V * T);
        model.set("W_O", {0, 0}, test::inverseOf(T) * w.W_O);
        const ResultSet after = test::analysed(model.circuits(), {"norms"}, normsOptions());
        for (const ResultArray& array : before.arrays) {
            const double one = numbers(before, array.path)[0], other = numbers(after, array.path)[0];
            if (array.attributes.contains("warning"))
                QVERIFY2(std::abs(one - other) > 1e-2 * one, array.path.c_str());
            else
                QVERIFY2(std::abs(one - other) < 1e-9 * one, array.path.c_str());
        }
        QVERIFY(before.find(normsFolder + "W_O")->attributes.contains("warning"));
        QVERIFY(!before.find(normsFolder + "qk_spectral")->attributes.contains("warning"));
    }

    void randomHeadsMeetTheirNulls_data()
    {
        QTest::addColumn<QString>("path");
        for (const char* circuit : {"qk", "ov", "full_qk", "full_ov"})
            for (const char* name :
                 {"frobenius_norm", "effective_rank", "stable_rank", "participation_ratio"})
                QTest::newRow((std::string(circuit) + name).c_str())
                    << QStringLiteral("spectra/%1/%2").arg(QLatin1String(circuit), QLatin1String(name));
        for (const char* path :
             {"analyses/ranks/qk_k90", "analyses/ranks/ov_numerical_rank", "analyses/symmetry/symmetric_norm",
              "analyses/symmetry/antisymmetric_norm", "analyses/norms/qk_spectral",
              "analyses/norms/ov_spectral", "analyses/norms/W_Q", "analyses/norms/W_O", "analyses/norms/b_Q",
              "analyses/norms/b_V", "analyses/norms/b_Q_W_K", "analyses/norms/b_V_W_O",
              "scores/previous_token"})
            QTest::newRow(path) << QString::fromLatin1(path);
    }
    // 24 random heads meet their null: the mean is within the uncertainty of both.
    void randomHeadsMeetTheirNulls()
    {
        QFETCH(QString, path);
        static const ResultSet results =
            test::analysed(randomHeadsOf("standard"),
                           {"spectra", "ranks", "symmetry", "norms", "previous_token"}, normsOptions(3));
        const ResultArray* array = results.find(path.toStdString());
        QVERIFY(array && array->nullMean && array->nullDeviation);
        const Spread found = spreadOf(numbers(results, path.toStdString()));
        const double uncertain = std::max(found.deviation, *array->nullDeviation)
            * std::sqrt(1.0 / (heads * layers) + 1.0 / randomHeads);
        QVERIFY2(std::abs(found.mean - *array->nullMean) <= 4 * uncertain,
                 QByteArray::number(found.mean) + " null " + QByteArray::number(*array->nullMean));
        QVERIFY(*array->nullDeviation <= 3 * found.deviation && found.deviation <= 3 * *array->nullDeviation);
    }

    // E‖E W_Q W_Kᵀ Eᵀ‖² = r q k tr(EᵀE)², E‖E W_V W_O W_U‖² = r v o tr(EᵀE) tr(W_U W_Uᵀ): q the mean square of W_Q.
    void theNullsOfNormsAreTheClosedForms()
    {
        const Circuits circuits = randomHeadsOf("standard");
        const ResultSet results = test::analysed(circuits, {"spectra"}, normsOptions());
        double squares[4]{};
        for (const HeadId head : allHeads(circuits)) {
            const auto w = circuits.weights().head<double>(head);
            const double each = 1.0 / (heads * layers * d * r);
            squares[0] += w.W_Q.squaredNorm() * each;
            squares[1] += w.W_K.squaredNorm() * each;
            squares[2] += w.W_V.squaredNorm() * each;
            squares[3] += w.W_O.squaredNorm() * each;
        }
        const double E = circuits.weights().W_E<double>(0, V).squaredNorm();
        const double U = circuits.weights().W_U<double>(0, V).squaredNorm();
        const double expected[]{r * squares[0] * squares[1] * d * d, r * squares[2] * squares[3] * d * d,
                                r * squares[0] * squares[1] * E * E, r * squares[2] * squares[3] * E * U};
        const char* names[]{"qk", "ov", "full_qk", "full_ov"};
        for (int i = 0; i < 4; ++i) {
            const ResultArray* array = results.find(std::string("spectra/") + names[i] + "/frobenius_norm");
            const double root = std::sqrt(expected[i]);
            const double uncertain = *array->nullDeviation / std::sqrt(static_cast<double>(randomHeads));
            QVERIFY2(std::abs(*array->nullMean - root) < 4 * uncertain, names[i]);
        }
    }

    // The chance of the offset 1 among what a query sees, over random weights: heads of the same kind meet it.
    void rotaryHeadsMeetTheNullOfThePreviousToken()
    {
        const ResultSet results =
            test::analysed(randomHeadsOf("rotary"), {"previous_token"}, normsOptions(5));
        const ResultArray* array = results.find("scores/previous_token");
        QVERIFY(array->nullMean && array->nullDeviation);
        const Spread found = spreadOf(numbers(results, "scores/previous_token"));
        const double uncertain = std::max(found.deviation, *array->nullDeviation)
            * std::sqrt(1.0 / (heads * layers) + 1.0 / randomHeads);
        QVERIFY(std::abs(found.mean - *array->nullMean) <= 4 * uncertain);
    }

    void theNullsAreOfTheSeedAlone()
    {
        const Circuits circuits = randomHeadsOf("standard");
        Task one, many;
        one.threads = 1, many.threads = 4;
        const std::vector<std::string> names{"spectra", "previous_token", "norms"};
        const ResultSet first = test::analysed(circuits, names, normsOptions(1), one);
        QVERIFY(first == test::analysed(circuits, names, normsOptions(1), many));
        const ResultSet other = test::analysed(circuits, names, normsOptions(2), many);
        for (const char* path :
             {"spectra/full_qk/stable_rank", "scores/previous_token", "analyses/norms/qk_spectral"}) {
            QVERIFY2(first.find(path)->nullMean != other.find(path)->nullMean, path);
            QVERIFY2(numbers(first, path) == numbers(other, path), path);
        }
    }

    // Layers with different windows have different nulls.
    void layersOfDifferentWindowsHaveNullsOfTheirOwn()
    {
        ModelConfig config;
        config.nLayers = 2;
        Results given(config, Precision::F64, findAnalysis("previous_token")->arrays);
        ResultArray scores;
        putPreviousTokenNulls(given, scores, {{0.1, 0.01}, {0.1, 0.01}});
        QVERIFY(given.arrays().empty() && scores.nullMean == 0.1 && scores.nullDeviation == 0.01);
        ResultArray others;
        putPreviousTokenNulls(given, others, {{0.1, 0.01}, {0.2, 0.02}});
        QVERIFY(!others.nullMean);
        const auto finished = std::move(given).finish();
        QVERIFY(test::isOk(finished));
        const ResultSet& results = *finished;
        QCOMPARE(numbers(results, "analyses/previous_token/null_mean"), (std::vector<double>{0.1, 0.2}));
        QCOMPARE(results.arrays[0].shape, std::vector<std::size_t>{2});
        QCOMPARE(numbers(results, "analyses/previous_token/null_deviation"),
                 (std::vector<double>{0.01, 0.02}));
    }
};

HEADWISE_TEST(NormsTest)
#include "norms_test.moc"
