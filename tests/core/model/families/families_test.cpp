#include "tests/support/family_model.h"

#include "core/circuits/circuits.h"
#include "core/model/checkpoint_writer.h"
#include "tests/support/loaded.h"
#include "tests/support/program.h"
#include "tests/support/toy_model.h"

#include <QTemporaryDir>

using namespace headwise;
using test::Fault;

namespace {

const std::vector<int> familiesPrompt{3, 1, 4, 1, 5, 0, 2, 6, 5};

/// \param first, step which of them
void addFamilies(std::size_t first = 0, std::size_t step = 1)
{
    QTest::addColumn<QString>("name");
    const std::vector<std::string> names = test::familyNames();
    for (std::size_t i = first; i < names.size(); i += step)
        QTest::newRow(names[i].c_str()) << QString::fromStdString(names[i]);
}

double difference(const Matrix<double>& a, const Matrix<double>& b)
{
    if (a.rows() != b.rows() || a.cols() != b.cols())
        return INFINITY;
    const Matrix<double> difference = (a - b).cwiseAbs();
    return difference.allFinite() ? difference.maxCoeff() : INFINITY;
}

double logitDifference(const test::ReferenceRun& reference, const ForwardResult<double>& run)
{
    return difference(run.logits, test::matrixOf(reference.logits));
}

/// Logits, patterns and the residual stream after every layer.
template <typename Scalar>
double largestDifference(const test::ReferenceRun& reference, const ForwardResult<Scalar>& run)
{
    double largest = difference(run.logits.template cast<double>(), test::matrixOf(reference.logits));
    for (std::size_t layer = 0; layer < run.patterns.size(); ++layer) {
        for (std::size_t head = 0; head < run.patterns[layer].size(); ++head)
            largest = std::fmax(largest,
                                difference(run.patterns[layer][head].template cast<double>(),
                                           test::matrixOf(reference.patterns[layer][head])));
        const auto& after = reference.steps.at(std::to_string(layer) + ".resid_post");
        largest = std::fmax(
            largest, difference(run.residuals[layer + 1].template cast<double>(), test::matrixOf(after)));
    }
    return largest;
}

/// True for masks and other models' parts; without rotation also for the key bias, which is the same for all keys of a
/// query.
bool isUnseen(const std::string& name, const test::StoredTensor& tensor, const ModelConfig& config)
{
    const bool isMask = name.ends_with("masked_bias") || name.ends_with("attn.mask")
        || (name.ends_with(".bias") && tensor.shape.size() > 1);
    const bool isElsewhere = name.starts_with("vision_tower") || name.starts_with("multi_modal")
        || name.find("pooler") != std::string::npos || name.starts_with("cls.seq_relationship")
        || name.starts_with("discriminator_predictions");
    const bool isKeyBias = config.positional != Positional::Rotary
        && (name.ends_with("k_proj.bias") || name.ends_with("key.bias") || name.ends_with("k_lin.bias"));
    return isMask || isElsewhere || isKeyBias;
}

} // namespace

class FamiliesTest : public QObject {
    Q_OBJECT

private slots:
    void init() { m_folder = std::make_unique<QTemporaryDir>(); }

    void forwardPassIsTheReferences_data() { addFamilies(); }
    void forwardPassIsTheReferences()
    {
        const auto folder = write(model());
        const test::ReferenceRun reference = test::referenceForward(folder, familiesPrompt);
        const ProcessedWeights weights = test::raw(test::loaded(folder));
        const double exact = largestDifference(reference, test::ran<double>(weights, familiesPrompt));
        qInfo("largest difference in double: %.1e", exact);
        QCOMPARE_LT(exact, 1e-10);
        QCOMPARE_LT(largestDifference(reference, test::ran<float>(weights, familiesPrompt)), 2e-4);
    }

    /// A tensor read from the wrong place, or not at all, does not follow the reference when it changes. Two tests, since it takes
    /// longest: of every second family.
    void everyTensorReachesTheOutputAsInTheReference_data() { addFamilies(0, 2); }
    void everyTensorReachesTheOutputAsInTheReference() { checkEveryTensor(); }
    void everyTensorOfTheOtherFamiliesDoesToo_data() { addFamilies(1, 2); }
    void everyTensorOfTheOtherFamiliesDoesToo() { checkEveryTensor(); }

    void foldsKeepTheFunction_data() { addFamilies(); }
    void foldsKeepTheFunction()
    {
        const auto folder = write(model());
        const auto reference = test::matrixOf(test::referenceForward(folder, familiesPrompt).logits);
        const auto loaded = test::loaded(folder);
        ProcessingWish wish;
        wish.refactorAttention = StepWish::Default;
        for (const ProcessingWish& one : {ProcessingWish{}, wish}) {
            const ProcessedWeights weights = test::processed(loaded, one);
            for (const StepOutcome& step : weights.plan().steps)
                qInfo("%s: %s", step.name.c_str(), step.applied ? "applied" : step.reason.c_str());
            const auto logits = test::ran<double>(weights, familiesPrompt).logits;
            QCOMPARE_LT(difference(test::logSoftmax(logits), test::logSoftmax(reference)), 1e-9);
        }
    }

    void plantedFaultsAreNoticed_data() { addFamilies(); }
    void plantedFaultsAreNoticed()
    {
        const auto folder = write(model());
        const auto loaded = test::loaded(folder);
        const ModelConfig& config = loaded->config();
        const auto run = test::ran<double>(test::raw(loaded), familiesPrompt);
        std::vector<Fault> faults{Fault::TransposedProjection};
        if (config.attentionScale != 1)
            faults.push_back(Fault::ScaleOne);
        if (config.nKvHeads != config.nHeads && config.nKvHeads != 1)
            faults.push_back(Fault::TileInsteadOfRepeat);
        if (config.positional == Positional::Rotary)
            faults.push_back(Fault::WrongRotaryPairing);
        if (config.gatedMlp)
            faults.push_back(Fault::GateAndUpSwapped);
        if (config.rmsUsesOffset)
            faults.push_back(Fault::MissingOnePlusW);
        for (const Fault fault : faults)
            QVERIFY2(logitDifference(test::referenceForward(folder, familiesPrompt, fault), run) > 1e-3,
                     std::to_string(static_cast<int>(fault)).c_str());
    }

    void circuitsAreProductsOfTheStoredMatrices_data() { addFamilies(); }
    void circuitsAreProductsOfTheStoredMatrices()
    {
        const auto folder = write(model());
        const auto loaded = test::loaded(folder);
        const Circuits circuits(std::make_shared<const ProcessedWeights>(test::raw(loaded)));
        for (int layer = 0; layer < loaded->config().nLayers; ++layer)
            for (int head = 0; head < loaded->config().nHeads; ++head) {
                const auto stored = test::referenceHead(folder, std::size_t(layer), std::size_t(head));
                const Matrix<double> qk = test::matrixOf(stored.W_Q) * test::matrixOf(stored.W_K).transpose();
                const Matrix<double> ov = test::matrixOf(stored.W_V) * test::matrixOf(stored.W_O);
                QCOMPARE_LT(difference(circuits.qk({layer, head}).dense(), qk), 1e-12);
                QCOMPARE_LT(difference(circuits.ov({layer, head}).dense(), ov), 1e-12);
            }
    }

    /// A model that TransformerLens' keys cannot express is refused; others have the same function when read again.
    void writtenFoldersKeepTheFunctionOrAreRefused_data() { addFamilies(); }
    void writtenFoldersKeepTheFunctionOrAreRefused()
    {
        const auto folder = write(model());
        const auto reference = test::matrixOf(test::referenceForward(folder, familiesPrompt).logits);
        const auto loaded = test::loaded(folder);
        for (const ProcessedWeights& weights : {test::raw(loaded), test::processed(loaded)}) {
            const auto target = root() / (weights.plan().steps.empty() ? "raw" : "processed");
            const auto done =
                writeTransformerLensFolder(weights, folder, target, ExistingFolder::Refuse, Task{});
            if (const std::string reason = whyNotTransformerLens(weights.config()); !reason.empty()) {
                qInfo("%s", reason.c_str());
                QVERIFY(test::failsWith(done, ErrorCode::Unsupported, reason));
                continue;
            }
            QVERIFY(test::isOk(done));
            const auto again = test::matrixOf(test::referenceForward(target, familiesPrompt).logits);
            QCOMPARE_LT(difference(test::logSoftmax(again), test::logSoftmax(reference)), 1e-9);
            const auto ours = test::ran<double>(test::raw(test::loaded(target)), familiesPrompt).logits;
            QCOMPARE_LT(difference(ours, again), 1e-10);
        }
    }

private:
    void checkEveryTensor() const
    {
        const test::FamilyModel original = model();
        const auto before = test::matrixOf(test::referenceForward(write(original), familiesPrompt).logits);
        const ModelConfig config = test::loaded(root() / "model")->config();
        for (const auto& [name, tensor] : original.tensors) {
            test::FamilyModel changed = original;
            std::vector<double>& values = changed.tensors[name].values;
            for (std::size_t i = 0; i < values.size(); i += 5)
                values[i] += 0.5;
            const auto folder = write(changed);
            const auto reference = test::referenceForward(folder, familiesPrompt);
            const double moved = difference(test::matrixOf(reference.logits), before);
            QVERIFY2(isUnseen(name, tensor, config) ? moved < 1e-10 : moved > 1e-3, name.c_str());
            const auto run = test::ran<double>(test::raw(test::loaded(folder)), familiesPrompt);
            QVERIFY2(logitDifference(reference, run) < 1e-10, name.c_str());
        }
    }

    static test::FamilyModel model()
    {
        QFETCH(QString, name);
        return test::familyModel(name.toStdString());
    }
    std::filesystem::path root() const { return m_folder->path().toStdString(); }
    std::filesystem::path write(const test::FamilyModel& model) const
    {
        return test::writeFamily(root() / "model", model);
    }

    std::unique_ptr<QTemporaryDir> m_folder;
};

HEADWISE_TEST(FamiliesTest)
#include "families_test.moc"
