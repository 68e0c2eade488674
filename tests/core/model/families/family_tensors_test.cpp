#include "tests/support/family_rows.h"

#include <QTemporaryDir>

using namespace headwise;

namespace {

/// True for masks and other models' parts; without rotation also for the key bias, which is the same for all keys of a
/// query.
bool isUnseen(const std::string& name, const test::StoredTensor& tensor, const ModelConfig& config)
{
    const bool isMask = name.ends_with("masked_bias") || name.ends_with("attn.mask")
        || (name.ends_with(".bias") && tensor.shape.size() > 1);
    const bool isElsewhere = name.starts_with("vision_tower") || name.starts_with("multi_modal")
        || (config.architecture == "deepseek_v3" && name.starts_with("model.layers.3.")) // further tokens
        || name.find("pooler") != std::string::npos || name.starts_with("cls.seq_relationship")
        || name.starts_with("discriminator_predictions");
    const bool isOtherStack = name.starts_with(config.readsImages ? "text_" : "vision_model")
        || name.find("patch_embedding") != std::string::npos || name == "text_projection.weight"
        || (name == "visual_projection.weight" && !config.readsImages)
        || (config.architecture == "bart_encoder"
            && (name.starts_with("model.decoder.") || name == "final_logits_bias"))
        || (config.architecture == "t5_encoder"
            && (name.starts_with("decoder.") || name == "lm_head.weight"));
    const bool isKeyBias = config.positional != Positional::Rotary
        && (name.ends_with("k_proj.bias") || name.ends_with("key.bias") || name.ends_with("k_lin.bias"));
    return isMask || isElsewhere || isOtherStack || isKeyBias;
}

} // namespace

/// A tensor read from the wrong place, or not at all, does not follow the reference when it changes. Two tests, since it takes
/// longest: of every second family.
class FamilyTensorsTest : public QObject {
    Q_OBJECT

private slots:
    void everyTensorReachesTheOutputAsInTheReference_data() { test::addFamilies(0, 2); }
    void everyTensorReachesTheOutputAsInTheReference() { checkEveryTensor(); }
    void everyTensorOfTheOtherFamiliesDoesToo_data() { test::addFamilies(1, 2); }
    void everyTensorOfTheOtherFamiliesDoesToo() { checkEveryTensor(); }

private:
    static void checkEveryTensor()
    {
        QFETCH(QString, name);
        const QTemporaryDir root;
        const auto folder = std::filesystem::path(root.path().toStdString()) / "model";
        const std::vector<int> prompt = test::promptOf(name);
        const test::FamilyModel original = test::familyModel(name.toStdString());
        test::writeFamily(folder, original);
        const auto before = test::matrixOf(test::referenceForward(folder, prompt).logits);
        const ModelConfig config = test::loaded(folder)->config();
        for (const auto& [stored, tensor] : original.tensors) {
            test::FamilyModel changed = original;
            std::vector<double>& values = changed.tensors[stored].values;
            for (std::size_t i = 0; i < values.size(); i += 5)
                values[i] += 0.5;
            test::writeFamily(folder, changed);
            const auto reference = test::referenceForward(folder, prompt);
            const double moved = test::largestDifference(test::matrixOf(reference.logits), before);
            QVERIFY2(isUnseen(stored, tensor, config) ? moved < 1e-10 : moved > 1e-3, stored.c_str());
            const auto run = test::ran<double>(test::raw(test::loaded(folder)), prompt);
            QVERIFY2(test::logitDifference(reference, run) < 1e-10, stored.c_str());
        }
    }
};

HEADWISE_TEST(FamilyTensorsTest)
#include "family_tensors_test.moc"
