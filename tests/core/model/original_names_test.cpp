#include "core/model/checkpoint_writer.h"
#include "tests/support/family_model.h"
#include "tests/support/loaded.h"
#include "tests/support/program.h"

#include <QFile>
#include <QJsonDocument>
#include <QTemporaryDir>

#include <algorithm>
#include <set>

using namespace headwise;

namespace {

const std::vector<int> tokens{3, 1, 4, 1, 5, 0, 2, 6, 5};

ProcessingWish asStored()
{
    ProcessingWish wish;
    wish.biasHomes = BiasHomes::AsStored;
    return wish;
}

Matrix<double> logProbabilities(const ProcessedWeights& weights, const std::vector<int>& prompt)
{
    return test::logSoftmax(test::ran<double>(weights, prompt).logits);
}

std::set<std::string> names(const ModelWeights& weights)
{
    std::set<std::string> names;
    for (const StoredTensor& tensor : weights.file().tensors())
        names.insert(tensor.name);
    return names;
}

bool isPassedOver(const ProcessedWeights& weights, TensorKind w, int layer)
{
    return std::ranges::count(weights.plan().unfolded, NormId{w, layer}) > 0;
}

} // namespace

class OriginalNamesTest : public QObject {
    Q_OBJECT

private slots:
    void init() { m_folder = std::make_unique<QTemporaryDir>(); }

    void aFamilysOwnFileHasTheSameFunction_data()
    {
        QTest::addColumn<QString>("name");
        for (const std::string& name : test::familyNames())
            if (!test::readsImages(name) && test::hasForward(name)) // no vocabulary, no function to compare
                QTest::newRow(name.c_str()) << QString::fromStdString(name);
    }
    void aFamilysOwnFileHasTheSameFunction()
    {
        QFETCH(QString, name);
        const auto folder = test::writeFamily(path("original"), test::familyModel(name.toStdString()));
        const auto model = test::loaded(folder);
        const Matrix<double> expected = logProbabilities(test::raw(model), tokens);
        ProcessingWish refactored = asStored();
        refactored.refactorAttention = StepWish::Default;
        for (const ProcessingWish& wish : {asStored(), refactored}) {
            const ProcessedWeights weights = test::processed(model, wish);
            const auto done =
                writeOriginalFolder(weights, folder, path("written"), ExistingFolder::Replace, Task{});
            // TransformerLens' own models are written with its keys, which cannot express everything we read.
            if (name.startsWith("TransformerLens") && !whyNotTransformerLens(weights.config()).empty()) {
                QCOMPARE(done.error().message, whyNotTransformerLens(weights.config()));
                continue;
            }
            QVERIFY(test::isOk(done));
            const auto written = test::loaded(path("written"));
            const Matrix<double> difference = logProbabilities(test::raw(written), tokens) - expected;
            QVERIFY(difference.allFinite());
            QCOMPARE_LT(difference.cwiseAbs().maxCoeff(), 1e-9);
            checkNorms(weights, *written);
            std::set<std::string> known = names(*model);
            known.insert(model->embeddingNames().input);
            known.insert(model->embeddingNames().output);
            QCOMPARE(names(*written), known);
            QVERIFY(!written->config().tiedEmbeddings);
        }
    }

    void realModelsStayTheSame_data()
    {
        QTest::addColumn<QString>("name");
        for (const char* name : {"stories260k", "stories260k-gguf", "gpt-nano-sort"})
            QTest::newRow(name) << name;
    }
    void realModelsStayTheSame()
    {
        QFETCH(QString, name);
        const auto folder = std::filesystem::path(HEADWISE_TEST_DATA) / "models" / name.toStdString();
        const auto model = test::loaded(folder);
        const ProcessedWeights weights = test::processed(model, asStored());
        QVERIFY(test::isOk(
            writeOriginalFolder(weights, folder, path("written"), ExistingFolder::Refuse, Task{})));
        const auto written = test::loaded(path("written"));
        const std::vector<int> prompt{1, 2, 0, 2, 1};
        const Matrix<double> difference =
            logProbabilities(test::raw(written), prompt) - logProbabilities(test::raw(model), prompt);
        QCOMPARE_LT(difference.cwiseAbs().maxCoeff(), 1e-5);
        checkNorms(weights, *written);
    }

    void oneWarningNamesTheNormsWhoseBiasHasNoHome()
    {
        const auto folder = test::writeFamily(path("original"), test::familyModel("gpt_neo"));
        const auto model = test::loaded(folder);
        const auto plan = planProcessing(*model, asStored());
        QVERIFY(test::isOk(plan));
        int about = 0;
        for (const std::string& warning : plan->warnings)
            about += warning.starts_with("fold-layer-norm skips");
        QCOMPARE(about, 1);
        // q, k and v of GPT-Neo have no biases, nor has its output; its MLP has them.
        QVERIFY(std::ranges::count(plan->unfolded, NormId{TensorKind::ln_final_w, 0}) == 1);
        QVERIFY(std::ranges::count(plan->unfolded, NormId{TensorKind::ln1_w, 0}) == 1);
        QVERIFY(std::ranges::count(plan->unfolded, NormId{TensorKind::ln2_w, 0}) == 0);
        QVERIFY(planProcessing(*model, {})->unfolded.empty());
    }

    void keysSharedByHeadsCannotBeRefactored()
    {
        ProcessingWish wish = asStored();
        wish.refactorAttention = StepWish::Required;
        // Attention without positions between its factors is refactored, but the layout forbids it here.
        const auto folder = test::writeFamily(path("original"), test::familyModel("qwen2"));
        const auto plan = planProcessing(*test::loaded(folder), wish);
        QVERIFY(!plan);
        QVERIFY2(plan.error().message.find("own K and V") != std::string::npos, plan.error().message.c_str());
    }

    void theConfigSaysWhatTheFileHolds()
    {
        const auto folder = std::filesystem::path(HEADWISE_TEST_DATA) / "models" / "stories260k";
        const auto model = test::loaded(folder);
        QVERIFY(test::isOk(
            writeOriginalFolder(test::raw(model), folder, path("written"), ExistingFolder::Refuse, Task{})));
        QFile file(QString::fromStdString((path("written") / "config.json").string()));
        QVERIFY(file.open(QIODevice::ReadOnly));
        const QJsonObject config = QJsonDocument::fromJson(file.readAll()).object();
        QCOMPARE(config["model_type"].toString(), "llama");
        QCOMPARE(config["tie_word_embeddings"].toBool(true), false);
        QCOMPARE(config["torch_dtype"].toString(), "float32");
    }

private:
    std::filesystem::path path(const char* name) const
    {
        return std::filesystem::path(m_folder->path().toStdString()) / name;
    }

    /// Folded norms are the identity in the file; skipped ones are unchanged.
    static void checkNorms(const ProcessedWeights& weights, const ModelWeights& written)
    {
        using enum TensorKind;
        const bool folds = weights.plan().applied.foldLayerNorm;
        for (const auto& [key, view] : written.views()) {
            const auto [kind, layer, head] = key;
            const bool isWeight = kind == ln1_w || kind == ln2_w || kind == ln_final_w;
            const TensorKind w = kind == ln1_b ? ln1_w
                : kind == ln2_b                ? ln2_w
                : kind == ln_final_b           ? ln_final_w
                                               : kind;
            if (!isWeight && w == kind)
                continue;
            const Matrix<double> now = written.read<double>(kind, layer, head);
            if (!folds || isPassedOver(weights, w, layer)) {
                QCOMPARE(now, weights.original().read<double>(kind, layer, head));
                continue;
            }
            const double identity = isWeight && !written.config().rmsUsesOffset ? 1 : 0;
            QVERIFY2((now.array() == identity).all(), std::string(tensorKindName(kind)).c_str());
        }
    }

    std::unique_ptr<QTemporaryDir> m_folder;
};

HEADWISE_TEST(OriginalNamesTest)
#include "original_names_test.moc"
