#include "core/base/decompositions.h"
#include "core/circuits/spectrum.h"
#include "core/results/layer_null.h"

#include "tests/support/analysed.h"
#include "tests/support/planted.h"
#include "tests/support/planted_tokens.h"
#include "tests/support/program.h"

#include <QTest>

#include <cmath>
#include <functional>
#include <random>

using namespace headwise;

namespace {

/// Gaussian matrices from another generator than the program's.
class OtherGaussian {
public:
    Matrix<double> matrix(Eigen::Index rows, Eigen::Index cols)
    {
        return Matrix<double>::NullaryExpr(rows, cols, [this] { return m_normal(m_random); });
    }

private:
    std::mt19937 m_random{20240607};
    std::normal_distribution<double> m_normal;
};

struct Sampled {
    double mean = 0, deviation = 0;
};

Sampled sampled(int count, const std::function<double()>& draw)
{
    std::vector<double> values;
    values.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i)
        values.push_back(draw());
    const Eigen::Map<const Eigen::ArrayXd> all(values.data(), count);
    return {all.mean(), std::sqrt((all - all.mean()).square().sum() / (count - 1))};
}

double positivityOf(const Matrix<double>& m)
{
    const auto lambda = eigenvalues(m);
    return positivity({lambda->data(), static_cast<std::size_t>(lambda->size())});
}

/// The tokens of a model, in double.
struct Tokens {
    Matrix<double> E, W_U;

    Tokens(const Circuits& circuits, Embedding embedding, int layer)
    {
        const auto side = test::tokensOf(circuits, embedding, Precision::F64);
        E = *side->embeddingOf(layer).whole<double>();
        W_U = *side->W_U.whole<double>();
    }
};

/// A vocabulary of 3·tokens rows that mostly consist of one common vector, as in trained embeddings.
Circuits anisotropic(int dModel, int dHead)
{
    test::PlantedModel model(test::plantedSizes(dModel, dHead, 60));
    OtherGaussian random;
    const auto skewed = [&] {
        Matrix<double> m = random.matrix(60, dModel);
        for (Eigen::Index i = 0; i < dModel; ++i)
            m.col(i) /= static_cast<double>(1 + i);
        m.rowwise() += 2 * random.matrix(1, dModel).row(0);
        return m;
    };
    const Matrix<double> E = skewed();
    model.set("embed.W_E", E);
    model.set("unembed.W_U", (E + 0.3 * skewed()).transpose());
    return model.circuits();
}

Circuits named(const QString& name)
{
    if (name == "demo")
        return test::circuitsOf(HEADWISE_DEMO_MODEL);
    if (name == "stories260k")
        return test::circuitsOf(test::testData("models/stories260k"));
    if (name == "anisotropic")
        return anisotropic(32, 8);
    if (name == "d_head > d_model")
        return anisotropic(12, 20);
    return test::circuitsOf(test::testData("models/gpt-nano-sort")); // fewer tokens than d_head
}

} // namespace

/// The null of copying, matching and normality, compared with Monte-Carlo runs with another generator and seed, in
/// double.
class EigenvalueNullTest : public QObject {
    Q_OBJECT

private slots:
    void positivityAgreesWithAnotherMonteCarlo_data()
    {
        QTest::addColumn<QString>("model");
        for (const char* model : {"demo", "stories260k", "anisotropic", "d_head > d_model", "gpt-nano-sort"})
            QTest::newRow(model) << model;
    }
    void positivityAgreesWithAnotherMonteCarlo()
    {
        QFETCH(QString, model);
        const Circuits circuits = named(model);
        const ModelConfig& config = circuits.config();
        const Eigen::Index d = config.dModel, r = config.dHead;
        const ResultSet results = test::analysed(circuits, {"copying", "matching"});
        const Tokens tokens(circuits, Embedding::Raw, 0);
        OtherGaussian random;
        const auto check = [&](const char* path, const std::function<Matrix<double>()>& circle) {
            const Sampled other = sampled(400, [&] { return positivityOf(circle()); });
            const ResultArray& array = *results.find(path);
            QCOMPARE(*array.nullMean, 0.0);
            // 100 heads estimate a deviation to 7 %, 400 to 3.5 %; heads that share factors are slightly worse.
            const double ratio = *array.nullDeviation / other.deviation;
            QVERIFY2(std::abs(ratio - 1) < 0.25, qPrintable(QString("%1 %2").arg(path).arg(ratio)));
            QVERIFY(array.definition.find("Gaussian heads of seed 0") != std::string::npos);
        };
        const Matrix<double> gram = tokens.E.transpose() * tokens.E;
        check("scores/matching", [&]() -> Matrix<double> {
            const Matrix<double> A = random.matrix(d, r), B = random.matrix(d, r);
            return d < r ? Matrix<double>(A * B.transpose() * gram)
                         : Matrix<double>(B.transpose() * gram * A);
        });
        check("scores/copying_weights", [&]() -> Matrix<double> {
            const Matrix<double> A = random.matrix(d, r), B = random.matrix(d, r);
            return d < r ? Matrix<double>(A * B.transpose()) : Matrix<double>(B.transpose() * A);
        });
        if (tokens.E.rows() != tokens.W_U.cols())
            return;
        const Matrix<double> UE = tokens.W_U * tokens.E;
        check("scores/copying", [&]() -> Matrix<double> {
            const Matrix<double> A = random.matrix(d, r), B = random.matrix(r, d);
            return d < r ? Matrix<double>(A * B * UE) : Matrix<double>(B * UE * A);
        });
    }

    /// If every head of the demo were random, about one in twenty would be two deviations off.
    void randomHeadsOfTheDemoStandOutAsOftenAsChanceSays()
    {
        const Circuits circuits = named("demo");
        const ResultSet results = test::analysed(circuits, {"copying"});
        const LayerNull null = layerNull(*results.find("scores/copying"), 0);
        const Tokens tokens(circuits, Embedding::Raw, 0);
        const Matrix<double> UE = tokens.W_U * tokens.E;
        OtherGaussian random;
        int beyond = 0;
        for (int i = 0; i < 600; ++i) {
            const Matrix<double> A = random.matrix(UE.rows(), circuits.config().dHead);
            const Matrix<double> B = random.matrix(circuits.config().dHead, UE.rows());
            beyond += std::abs(null.zScore(positivityOf(B * UE * A))) > 2 ? 1 : 0;
        }
        QVERIFY2(beyond > 600 * 0.02 && beyond < 600 * 0.085, QByteArray::number(beyond));
    }

    /// Layer 0 of `effective` reads the raw tokens, and has their null.
    void layer0HasTheNullOfItsOwnTokens()
    {
        test::ToyOptions toy;
        toy.dModel = 24;
        toy.dHead = 6;
        toy.dVocab = 50;
        const Circuits circuits = test::toyCircuits(toy);
        AnalysisOptions effective;
        effective.embedding = Embedding::Effective;
        const std::vector<std::string> names{"copying", "matching", "normality"};
        const ResultSet raw = test::analysed(circuits, names);
        const ResultSet found = test::analysed(circuits, names, effective);
        for (const char* path : {"scores/copying", "scores/matching", "analyses/normality/full_ov",
                                 "analyses/normality/full_qk"}) {
            const ResultArray& array = *found.find(path);
            const LayerNull first = layerNull(array, 0), later = layerNull(array, 1);
            QVERIFY2(std::abs(*first.deviation / *raw.find(path)->nullDeviation - 1) < 1e-4, path);
            QVERIFY2(*later.deviation == *array.nullDeviation && *later.mean == *array.nullMean, path);
            QVERIFY2(std::abs(*later.deviation / *first.deviation - 1) > 1e-3, path);
            QVERIFY(!raw.find(path)->attributes.contains(layer0NullMean));
        }
        QVERIFY(!found.find("scores/copying_weights")->attributes.contains(layer0NullMean));
        const Tokens tokens(circuits, Embedding::Effective, 1);
        const Matrix<double> gram = tokens.E.transpose() * tokens.E;
        OtherGaussian random;
        const Sampled other =
            sampled(400, [&] { return positivityOf(random.matrix(6, 24) * gram * random.matrix(24, 6)); });
        QVERIFY(std::abs(*found.find("scores/matching")->nullDeviation / other.deviation - 1) < 0.25);
    }

    void normalityAgreesWithAnotherMonteCarlo()
    {
        const Circuits circuits = named("anisotropic");
        const ResultSet results = test::analysed(circuits, {"normality"});
        const Tokens tokens(circuits, Embedding::Raw, 0);
        OtherGaussian random;
        const Sampled other = sampled(300, [&] {
            const Matrix<double> left = tokens.E * random.matrix(32, 8);
            const Matrix<double> right = random.matrix(8, 32) * tokens.W_U;
            return eigenvalues<double>(right * left)->squaredNorm() / (left * right).squaredNorm();
        });
        const ResultArray& array = *results.find("analyses/normality/full_ov");
        QVERIFY2(std::abs(*array.nullMean - other.mean) < 0.35 * other.deviation,
                 qPrintable(QString("%1 %2").arg(*array.nullMean).arg(other.mean)));
        QVERIFY(std::abs(*array.nullDeviation / other.deviation - 1) < 0.3);
    }

    void virtualHeadsAgreeWithAnotherMonteCarlo_data()
    {
        QTest::addColumn<QString>("model");
        for (const char* model : {"demo", "anisotropic", "d_head > d_model"})
            QTest::newRow(model) << model;
    }
    void virtualHeadsAgreeWithAnotherMonteCarlo()
    {
        QFETCH(QString, model);
        const Circuits circuits = named(model);
        const Eigen::Index d = circuits.config().dModel, r = circuits.config().dHead;
        AnalysisOptions options;
        options.inputs.pair = {{0, 0}, {1, 1}};
        const ResultSet results = test::analysed(circuits, {"virtual_head"}, options);
        const Tokens tokens(circuits, Embedding::Raw, 0);
        const Matrix<double> UE = tokens.W_U * tokens.E;
        OtherGaussian random;
        const Sampled other = sampled(400, [&] {
            const Matrix<double> ov = random.matrix(d, r) * (random.matrix(r, d) * random.matrix(d, r));
            const Matrix<double> out = random.matrix(r, d);
            return positivityOf(d < r ? Matrix<double>(ov * out * UE) : Matrix<double>(out * UE * ov));
        });
        const ResultArray& array = *results.find("analyses/virtual_head/copying");
        QCOMPARE(*array.nullMean, 0.0);
        const double ratio = *array.nullDeviation / other.deviation;
        QVERIFY2(std::abs(ratio - 1) < 0.25, QByteArray::number(ratio));
    }

    void noNullWhereNothingIsRead()
    {
        test::PlantedModel model(test::plantedSizes(12, 4, 20));
        model.set("embed.W_E", Matrix<double>::Zero(20, 12));
        const ResultSet results = test::analysed(model.circuits(), {"copying", "matching", "normality"});
        QVERIFY(!results.find("scores/copying")->nullMean && !results.find("scores/matching")->nullMean);
        QVERIFY(!results.find("analyses/normality/full_ov")->nullMean);
        QVERIFY(results.find("scores/copying_weights")->nullDeviation.has_value());
    }
};

HEADWISE_TEST(EigenvalueNullTest)
#include "eigenvalue_null_test.moc"
