#include "core/model/load_report.h"

#include "core/model/circuit_badges.h"
#include "core/model/finite_weights.h"
#include "tests/support/family_model.h"
#include "tests/support/loaded.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"
#include "tests/support/toy_model.h"

#include <QTemporaryDir>

#include <algorithm>
#include <filesystem>
#include <numeric>

using namespace headwise;
namespace fs = std::filesystem;

namespace {

const ConfigCheck* find(const LoadReport& report, std::string_view what)
{
    const auto found = std::find_if(report.checks.begin(), report.checks.end(),
                                    [what](const ConfigCheck& check) { return check.what == what; });
    return found == report.checks.end() ? nullptr : &*found;
}

std::string useOf(const ModelWeights& weights, const char* name)
{
    const int tensor = weights.file().find(name);
    return tensor < 0 ? "absent" : loadReport(weights).uses[static_cast<std::size_t>(tensor)].use;
}

const NormFactors* find(const std::vector<NormFactors>& norms, std::string_view name)
{
    const auto found = std::find_if(norms.begin(), norms.end(),
                                    [name](const NormFactors& norm) { return norm.name == name; });
    return found == norms.end() ? nullptr : &*found;
}

} // namespace

class LoadReportTest : public QObject {
    Q_OBJECT

private:
    QTemporaryDir m_temporary;
    int m_next = 0;

    fs::path newFolder() { return fs::path(m_temporary.path().toStdString()) / std::to_string(m_next++); }

    Result<std::optional<std::string>> warningOf(const test::FamilyModel& model)
    {
        return nonFiniteWarning(*test::loaded(test::writeFamily(newFolder(), model)), Task{});
    }

private slots:
    void namesTheFirstTensorThatHoldsNoNumbers()
    {
        test::FamilyModel model = test::familyModel("llama, llama3 scaling");
        QVERIFY(!warningOf(model)->has_value());
        constexpr double nan = std::numeric_limits<double>::quiet_NaN();
        auto& queries = model.tensors.at("model.layers.1.self_attn.q_proj.weight").values;
        queries[7] = queries[9] = nan;
        const auto one = warningOf(model);
        QVERIFY(test::isOk(one) && one->has_value());
        QVERIFY((**one).find("'model.layers.1.self_attn.q_proj.weight'") != std::string::npos);
        QVERIFY((**one).find("holds 2 numbers that are NaN or infinite, the first at element 7;")
                != std::string::npos);
        model.tensors.at("model.layers.1.self_attn.v_proj.weight").values[0] =
            -std::numeric_limits<double>::infinity();
        QVERIFY((**warningOf(model)).find("and one more tensor") != std::string::npos);
        std::stop_source source;
        source.request_stop();
        const auto weights = test::loaded(test::writeFamily(newFolder(), model));
        QVERIFY(test::failsWith(nonFiniteWarning(*weights, Task{source.get_token(), {}, 0}),
                                ErrorCode::Cancelled, ""));
    }

    void aMaskMayBeInfinite()
    {
        test::FamilyModel model = test::familyModel("gpt_neo");
        for (auto& [name, tensor] : model.tensors)
            if (tensor.shape.size() == 4)
                tensor.values[0] = -std::numeric_limits<double>::infinity();
        QVERIFY(!warningOf(model)->has_value());
    }

    void namesWhatEachTensorIsUsedFor()
    {
        const test::ToyModel toy = test::writeToyModel(newFolder(), test::gpt2Options());
        const auto weights = test::loaded(toy.folder);
        QCOMPARE(useOf(*weights, "transformer.h.1.attn.c_attn.weight"),
                 std::string("W_Q, W_K, W_V of layer 1"));
        QCOMPARE(useOf(*weights, "transformer.wpe.weight"), std::string("W_pos"));
        const LoadReport report = loadReport(*weights);
        QCOMPARE(report.usedCount, static_cast<int>(toy.tensors.size()));
        QVERIFY(report.ignored.empty());
        std::int64_t numbers = 0;
        for (const auto& [name, tensor] : toy.tensors)
            numbers += static_cast<std::int64_t>(tensor.values.size());
        QCOMPARE(report.usedBytes, 4 * numbers);
    }

    void saysWhyBuffersAreIgnored()
    {
        const test::ToyModel toy = test::writeToyModel(newFolder(), test::gpt2Options());
        auto tensors = toy.tensors;
        for (const char* layer : {"0", "1"}) {
            const std::string attention = std::string("transformer.h.") + layer + ".attn.";
            tensors[attention + "bias"] = {{1, 1, 17, 17}, std::vector<double>(289)};
            tensors[attention + "masked_bias"] = {{}, {-1e4}};
        }
        test::writeSafetensors(toy.folder / "model.safetensors", tensors, false);
        const LoadReport report = loadReport(*test::loaded(toy.folder));
        QCOMPARE(report.usedCount, static_cast<int>(toy.tensors.size()));
        QCOMPARE(report.ignored.size(), std::size_t{2});
        QVERIFY(report.ignored[0].why.starts_with("causal mask"));
        QVERIFY(report.ignored[0].names
                == (std::vector<std::string>{"transformer.h.0.attn.bias", "transformer.h.1.attn.bias"}));
        QCOMPARE(report.ignored[0].bytes, 2 * 289 * 4);
        QVERIFY(report.ignored[1].why.starts_with("the value of masked scores"));
        QCOMPARE(report.ignoredBytes, 2 * 290 * 4);
    }

    void holdsTheConfigAgainstTheTensors()
    {
        const auto weights = test::loaded(test::writeToyModel(newFolder(), test::llamaOptions()).folder);
        const LoadReport report = loadReport(*weights);
        for (const ConfigCheck& check : report.checks)
            QVERIFY2(check.agrees, check.what.c_str());
        QVERIFY(find(report, "heads") && find(report, "heads")->config == "6");
        QVERIFY(find(report, "heads")->tensors.starts_with("6 "));
        QVERIFY(find(report, "key/value heads")->tensors.starts_with("2 "));
        QVERIFY(find(report, "vocabulary")->tensors.starts_with("11 rows of W_E"));
        QVERIFY(find(report, "d_head")->tensors.starts_with("4 columns"));
        QVERIFY(find(report, "layers")->tensors.starts_with("2 "));
        QVERIFY(!find(report, "context")); // rotary positions have no table
    }

    /// The only allowed difference: a position table longer than the context.
    void seesATableOfPositionsThatIsLonger()
    {
        const test::ToyModel toy = test::writeToyModel(newFolder(), test::gpt2Options());
        auto tensors = toy.tensors;
        test::StoredTensor& table = tensors.at("transformer.wpe.weight");
        table.shape[0] += 3;
        table.values.resize(table.values.size() + 3 * table.shape[1]);
        test::writeSafetensors(toy.folder / "model.safetensors", tensors, false);
        const LoadReport report = loadReport(*test::loaded(toy.folder));
        QVERIFY(find(report, "context"));
        QVERIFY(!find(report, "context")->agrees);
        QCOMPARE(find(report, "context")->config, std::string("17"));
        QVERIFY(find(report, "context")->tensors.starts_with("20 rows"));
    }

    void tellsTiedFromUntiedEmbeddings()
    {
        test::ToyOptions options = test::llamaOptions();
        const auto sentence = [&](bool tied) {
            options.tied = tied;
            return loadReport(*test::loaded(test::writeToyModel(newFolder(), options).folder)).embeddings;
        };
        QCOMPARE(sentence(true), std::string("Tied: W_E and W_U are both 'model.embed_tokens.weight'."));
        QCOMPARE(sentence(false),
                 std::string("Not tied: W_E is 'model.embed_tokens.weight', W_U is 'lm_head.weight'."));
    }

    void givesEachLayerItsOwnBadges()
    {
        using Badges = std::vector<std::string>;
        ModelConfig config;
        QVERIFY(circuitBadges(config, 0).empty()); // GPT-2: learned positions, nothing in between
        config.positional = Positional::Rotary;
        config.dHead = config.rotary.dim = 8;
        config.windows = {4096, 0};
        config.qkNorm = NormKind::Rms;
        config.attentionSoftCap = 50;
        config.hasPostNorms = true;
        QVERIFY(circuitBadges(config, 0)
                == (Badges{"rotary: QK at Δ = 0", "window 4096", "QK-norm", "soft cap 50", "norm after OV"}));
        QVERIFY(circuitBadges(config, 1)
                == (Badges{"rotary: QK at Δ = 0", "QK-norm", "soft cap 50", "norm after OV"}));
        config = {};
        config.positional = Positional::Rotary;
        config.dHead = 8;
        config.layerRotary = {Rotary{.dim = 0}, Rotary{.dim = 2}};
        QVERIFY(circuitBadges(config, 0) == Badges{"no positions in this layer"});
        QVERIFY(circuitBadges(config, 1) == Badges{"rotary, 2 of 8: QK at Δ = 0"});
        config = {};
        config.positional = Positional::Alibi;
        config.scaleByInverseLayer = true;
        config.attentionSoftCap = 0.5;
        QVERIFY(circuitBadges(config, 2) == (Badges{"ALiBi", "soft cap 0.5", "scores / 3"}));
    }

    void addsOneToTheNormsOfGemma()
    {
        const test::FamilyModel gemma = test::familyModel("gemma2");
        const auto weights = test::loaded(test::writeFamily(newFolder(), gemma));
        const std::vector<NormFactors> norms = normFactors(*weights);
        const NormFactors* final = find(norms, "ln_final");
        QVERIFY(final);
        QCOMPARE(final->formula, std::string("RMS, times 1 + w"));
        QCOMPARE(final->count, 1);
        const std::vector<double>& w = gemma.tensors.at("model.norm.weight").values;
        QCOMPARE(final->minimum, 1 + *std::min_element(w.begin(), w.end()));
        QCOMPARE(final->maximum, 1 + *std::max_element(w.begin(), w.end()));
        const double mean = std::accumulate(w.begin(), w.end(), 0.0) / static_cast<double>(w.size());
        QVERIFY(std::abs(final->mean - (1 + mean)) < 1e-14);
        QVERIFY(find(norms, "ln1_post") && find(norms, "ln1_post")->count == weights->config().nLayers);

        const auto plain = test::loaded(test::writeToyModel(newFolder(), test::gpt2Options()).folder);
        const std::vector<NormFactors> layerNorms = normFactors(*plain);
        QCOMPARE(layerNorms.size(), std::size_t{3});
        QCOMPARE(layerNorms[0].formula, std::string("LN, times w"));
        test::ToyOptions none;
        none.normalization = "LNPre";
        QVERIFY(normFactors(*test::loaded(test::writeToyModel(newFolder(), none).folder)).empty());
    }
};

HEADWISE_TEST(LoadReportTest)
#include "load_report_test.moc"
