#include "core/runs/plan.h"
#include "tests/support/analysed.h"
#include "tests/support/dense_algebra.h"
#include "tests/support/program.h"
#include "tests/support/toy_classes.h"

#include <algorithm>
#include <cmath>

using namespace headwise;
using namespace headwise::test;

namespace {

std::vector<std::string> labelsOf(const ResultSet& results, std::string_view path)
{
    return std::get<std::vector<std::string>>(results.find(path)->attributes.at("labels"));
}

bool isOn(const ResultSet& results, const char* step)
{
    return std::get<bool>(results.groupAttributes.at("analyses/folding").at(step));
}

double valueAt(const ResultSet& results, std::string_view path, std::string_view label)
{
    const auto labels = labelsOf(results, path);
    const auto found = std::find(labels.begin(), labels.end(), label);
    if (found == labels.end())
        qFatal("there is no row %s", std::string(label).c_str());
    return numbers(results, path)[std::size_t(found - labels.begin())];
}

} // namespace

class FoldingTest : public QObject {
    Q_OBJECT

private slots:
    void foldingKeepsWhatEveryMatrixReads()
    {
        for (const auto& [name, toy] : toyClasses()) {
            const Circuits circuits = toyCircuits(toy);
            const bool hasNorms = toy.normalization.has_value() || toy.activation == "solu_ln";
            QCOMPARE(whyLeftOut(*findAnalysis("folding"), circuits.config(), {}).empty(), hasNorms);
            if (!hasNorms)
                continue;
            AnalysisOptions options;
            options.precision = Precision::F64;
            const ResultSet results = analysed(circuits, {"folding"}, options);
            const auto difference = numbers(results, "analyses/folding/difference");
            const auto stored = numbers(results, "analyses/folding/stored_difference_null");
            const auto size = numbers(results, "analyses/folding/size");
            QVERIFY2(!difference.empty(), name);
            for (std::size_t i = 0; i < difference.size(); ++i) {
                QVERIFY2(size[i] > 0.01, name);
                QVERIFY2(difference[i] <= 1e-13 * size[i], name);
                QVERIFY2(stored[i] <= 2e-6 * size[i], name);
            }
            QCOMPARE(isOn(results, "fold_layer_norm"), circuits.weights().plan().applied.foldLayerNorm);
        }
    }

    void rowsAreTheNormsAndWhatReadsThem()
    {
        ToyOptions toy;
        toy.gatedMlp = true;
        toy.nLayers = 1;
        const std::vector<std::string> folded{"layer 0: ln1 → W_Q, folded",    "layer 0: ln1 → W_K, folded",
                                              "layer 0: ln1 → W_V, folded",    "layer 0: ln2 → W_in, folded",
                                              "layer 0: ln2 → W_gate, folded", "ln_final → W_U, folded"};
        QVERIFY(labelsOf(analysed(toyCircuits(toy), {"folding"}), "analyses/folding/difference") == folded);
        const ResultSet raw = analysed(toyCircuits(toy, noProcessing()), {"folding"});
        QCOMPARE(labelsOf(raw, "analyses/folding/size")[0], std::string("layer 0: ln1 → W_Q, kept"));
        for (const double difference : numbers(raw, "analyses/folding/difference"))
            QCOMPARE(difference, 0.0);
        QVERIFY(!isOn(raw, "fold_layer_norm") && !isOn(raw, "center_writing_weights"));
        toy.normalization = "LNPre";
        QCOMPARE(labelsOf(analysed(toyCircuits(toy), {"folding"}), "analyses/folding/size")[5],
                 std::string("ln_final → W_U, has no weight"));
    }

    /// Rounding to float32 is visible, so a wrong fold would be too.
    void theStoredWeightsDifferByTheirRounding()
    {
        const ResultSet results = analysed(toyCircuits({}), {"folding"});
        const auto stored = numbers(results, "analyses/folding/stored_difference_null");
        const auto size = numbers(results, "analyses/folding/size");
        for (std::size_t i = 0; i < stored.size(); ++i)
            QVERIFY(stored[i] > 1e-10 * size[i]);
    }

    void centringShowsInTheMeans()
    {
        AnalysisOptions options;
        options.precision = Precision::F64;
        const Circuits circuits = toyCircuits({});
        const ResultSet results = analysed(circuits, {"folding"}, options);
        const Matrix<double> stored = toyCircuits({}, noProcessing()).weights().W_E<double>(0, 11);
        const double raw = stored.rowwise().mean().cwiseAbs().maxCoeff();
        QVERIFY(std::abs(valueAt(results, "analyses/folding/mean_raw", "W_E, over d_model") - raw) < 1e-15);
        for (const double mean : numbers(results, "analyses/folding/mean"))
            QVERIFY(mean < 1e-15);
        ProcessingWish wish;
        wish.centerUnembed = StepWish::Off;
        const ResultSet kept = analysed(toyCircuits({}, wish), {"folding"}, options);
        QVERIFY(valueAt(kept, "analyses/folding/mean", "W_U, over the vocabulary") > 1e-3);
        QVERIFY(valueAt(kept, "analyses/folding/mean", "layer 1: W_O, over d_model") < 1e-15);
        QVERIFY(!isOn(kept, "center_unembed") && isOn(kept, "center_writing_weights"));
    }

    /// Folding reads every weight a few times and hardly multiplies: measured 2.9 s of one core at GPT-2 small's size;
    /// products alone would take 0.2 s at 35 GFLOP/s.
    void theEstimateCountsWhatIsRead()
    {
        ToyOptions toy;
        toy.nLayers = toy.nHeads = 1;
        ModelConfig config = toyCircuits(toy).config();
        config.nLayers = config.nHeads = 12;
        config.dModel = 768;
        config.dHead = 64;
        config.dMlp = 3072;
        config.dVocab = config.dVocabOut = 50257;
        const Analysis& folding = *findAnalysis("folding");
        const double seconds = folding.cost(config, {}).flops / 35e9;
        QVERIFY(seconds > 1 && seconds < 4);
        config.attentionOnly = true;
        QVERIFY(folding.cost(config, {}).flops < 0.8 * seconds * 35e9);
    }

    void normalityOfEveryClassIsThatOfTheDenseCircuit()
    {
        for (const auto& [name, toy] : toyClasses()) {
            const Circuits circuits = toyCircuits(toy);
            AnalysisOptions options;
            options.precision = Precision::F64;
            const ResultSet results = analysed(circuits, {"normality"}, options);
            for (const CircuitKind kind : circuitKinds) {
                const Matrix<double> dense = denseCircuit(circuits, kind, {1, 0});
                // Σ|λ|² of the Schur form's diagonal, by eigenvalues of the dense matrix.
                const Eigen::VectorXcd lambda = eigenvaluesOf(dense);
                const double expected = lambda.squaredNorm() / dense.squaredNorm();
                const auto values = numbers(results, "analyses/normality/" + std::string(circuitName(kind)));
                const double found = values[std::size_t(circuits.config().nHeads)];
                if (std::abs(found - expected) > 2e-5)
                    QFAIL(qPrintable(QString("%1: %2, expected %3").arg(name).arg(found).arg(expected)));
            }
        }
    }

    /// Σ|λ|²/‖W‖² of Gaussian factors tends to μ/2 − μ²/6, μ = d_head/d_model: the singular values of a product of two
    /// Gaussian matrices determine the spread of its eigenvalues (single ring).
    void theNullIsThatOfGaussianHeads()
    {
        ToyOptions toy;
        toy.dModel = 96;
        toy.dHead = 24;
        toy.dVocab = 101;
        const ResultSet results = analysed(toyCircuits(toy), {"normality"});
        const ResultArray& array = *results.find("analyses/normality/ov");
        const double mu = 0.25;
        QVERIFY(std::abs(*array.nullMean - (mu / 2 - mu * mu / 6)) < 0.01);
        QVERIFY(*array.nullDeviation > 0 && *array.nullDeviation < 0.02);
        QVERIFY(results.find("analyses/normality/full_qk")->nullMean.has_value());
    }
};

HEADWISE_TEST(FoldingTest)
#include "folding_test.moc"
