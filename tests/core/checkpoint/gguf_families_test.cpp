#include "core/checkpoint/gguf.h"
#include "core/circuits/circuits.h"
#include "tests/support/family_model.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/loaded.h"
#include "tests/support/program.h"
#include "tests/support/toy_model.h"

#include <QJsonDocument>
#include <QTemporaryDir>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <regex>

using namespace headwise;
namespace fs = std::filesystem;

namespace {

const std::vector<int> ggufPrompt{3, 1, 4, 1, 5, 0, 2, 6, 5};

/// A tiny checkpoint of a family, and the architecture of GGUF that it is converted to.
struct GgufCase {
    const char* family; ///< familyModel's, or "gpt2"
    const char* architecture;
    void (*change)(test::FamilyModel&) = nullptr; ///< makes it a model that GGUF can express
};

void scoresByHeadSize(test::FamilyModel& model)
{
    model.config["query_pre_attn_scalar"] = 4;
}

constexpr GgufCase ggufCases[] = {
    {"qwen2", "qwen2"},
    {"qwen3", "qwen3"},
    {"gemma", "gemma"},
    {"gemma2", "gemma2", scoresByHeadSize},
    {"gemma3", "gemma3", scoresByHeadSize},
    {"phi", "phi2"},
    {"phi3", "phi3"},
    {"gpt2", "gpt2"},
    {"gpt_neox", "gptneox"},
    {"gpt_neox, sequential", "gptneox"},
    {"falcon, one key/value head", "falcon"},
    {"falcon, per head, rotary", "falcon",
     [](test::FamilyModel& model) {
         model.config["parallel_attn"] = true;
         std::erase_if(model.tensors, [](const auto& entry) {
             return entry.first.find("post_attention_layernorm") != std::string::npos;
         });
     }},
    {"falcon, groups", "falcon"},
    {"starcoder2, no window", "starcoder2"},
    {"stablelm", "stablelm"},
    {"stablelm, parallel with head norms", "stablelm"},
    {"olmo2", "olmo2"},
};

// The converter below follows llama.cpp's convert_hf_to_gguf.py and shares nothing with core.

const std::map<std::string, std::string>& ggufNames()
{
    static const std::map<std::string, std::string> names{
        {"embed_tokens", "token_embd"},
        {"embed_in", "token_embd"},
        {"word_embeddings", "token_embd"},
        {"wte", "token_embd"},
        {"wpe", "position_embd"},
        {"norm", "output_norm"},
        {"ln_f", "output_norm"},
        {"final_layer_norm", "output_norm"},
        {"final_layernorm", "output_norm"},
        {"lm_head", "output"},
        {"embed_out", "output"},
        {"input_layernorm", "attn_norm"},
        {"ln_attn", "attn_norm_2"},
        {"ln_mlp", "attn_norm"},
        {"ln_1", "attn_norm"},
        {"ln_2", "ffn_norm"},
        {"pre_feedforward_layernorm", "ffn_norm"},
        {"post_feedforward_layernorm", "post_ffw_norm"},
        {"self_attn.q_proj", "attn_q"},
        {"self_attn.k_proj", "attn_k"},
        {"self_attn.v_proj", "attn_v"},
        {"self_attn.o_proj", "attn_output"},
        {"self_attn.dense", "attn_output"},
        {"attention.dense", "attn_output"},
        {"self_attention.dense", "attn_output"},
        {"attn.c_proj", "attn_output"},
        {"self_attn.qkv_proj", "attn_qkv"},
        {"attention.query_key_value", "attn_qkv"},
        {"self_attention.query_key_value", "attn_qkv"},
        {"attn.c_attn", "attn_qkv"},
        {"self_attn.q_norm", "attn_q_norm"},
        {"self_attn.k_norm", "attn_k_norm"},
        {"mlp.gate_proj", "ffn_gate"},
        {"mlp.up_proj", "ffn_up"},
        {"mlp.gate_up_proj", "ffn_up"},
        {"mlp.fc1", "ffn_up"},
        {"mlp.dense_h_to_4h", "ffn_up"},
        {"mlp.c_fc", "ffn_up"},
        {"mlp.down_proj", "ffn_down"},
        {"mlp.fc2", "ffn_down"},
        {"mlp.dense_4h_to_h", "ffn_down"},
        {"mlp.c_proj", "ffn_down"},
    };
    return names;
}

/// One conversion.
struct GgufConversion {
    const QJsonObject& config;
    std::string architecture;

    std::size_t size(std::initializer_list<const char*> keys, std::size_t absent = 0) const
    {
        for (const char* key : keys)
            if (config.contains(QLatin1String(key)))
                return static_cast<std::size_t>(config[QLatin1String(key)].toInteger());
        return absent;
    }
    std::size_t heads() const { return size({"num_attention_heads", "n_head"}); }
    std::size_t kvHeads() const
    {
        return architecture == "falcon" && config["multi_query"].toBool()
            ? 1
            : size({"num_key_value_heads", "num_kv_heads"}, heads());
    }
    std::size_t headSize() const { return size({"head_dim"}, size({"hidden_size", "n_embd"}) / heads()); }

    std::string name(const std::string& original) const
    {
        std::smatch parts;
        static const std::regex inBlock(R"(^.*?(?:layers|h)\.(\d+)\.(.*)\.(weight|bias)$)");
        static const std::regex outside(R"(^(?:.*\.)?(\w+)\.(weight|bias)$)");
        if (std::regex_match(original, parts, inBlock)) {
            const bool isBehind =
                architecture == "gemma2" || architecture == "gemma3" || architecture == "olmo2";
            const std::string part = parts[2] != "post_attention_layernorm" ? ggufNames().at(parts[2])
                : isBehind                                                  ? "post_attention_norm"
                                                                            : "ffn_norm";
            return "blk." + parts[1].str() + "." + part + "." + parts[3].str();
        }
        if (!std::regex_match(original, parts, outside))
            qFatal("no name for %s", original.c_str());
        return ggufNames().at(parts[1]) + "." + parts[2].str();
    }

    /// The rows of queries, then of keys, then of values, which alternated by group.
    test::StoredTensor thirds(const test::StoredTensor& fused) const
    {
        const std::size_t n = heads(), k = kvHeads(), h = headSize(), group = n / k + 2;
        const std::size_t width = fused.shape.size() == 2 ? fused.shape[1] : 1;
        test::StoredTensor out{fused.shape, {}};
        const auto copy = [&](std::size_t g, std::size_t slot) {
            const auto from =
                fused.values.begin() + static_cast<std::ptrdiff_t>((g * group + slot) * h * width);
            out.values.insert(out.values.end(), from, from + static_cast<std::ptrdiff_t>(h * width));
        };
        for (std::size_t g = 0; g < k; ++g)
            for (std::size_t slot = 0; slot < n / k; ++slot)
                copy(g, slot);
        for (const std::size_t slot : {n / k, n / k + 1})
            for (std::size_t g = 0; g < k; ++g)
                copy(g, slot);
        return out;
    }

    static test::StoredTensor transposed(const test::StoredTensor& matrix)
    {
        const std::size_t rows = matrix.shape[0], cols = matrix.shape[1];
        test::StoredTensor out{{cols, rows}, {}};
        for (std::size_t c = 0; c < cols; ++c)
            for (std::size_t r = 0; r < rows; ++r)
                out.values.push_back(matrix.values[r * cols + c]);
        return out;
    }

    test::StoredTensor numbers(const std::string& name, const test::StoredTensor& tensor) const
    {
        if (name.find("query_key_value") != std::string::npos)
            return thirds(tensor);
        test::StoredTensor out = tensor;
        if (architecture.starts_with("gemma") && name.ends_with("norm.weight"))
            for (double& value : out.values)
                value += 1;
        const bool isConv1d = architecture == "gpt2" && name.find(".c_") != std::string::npos;
        return isConv1d && tensor.shape.size() == 2 ? transposed(out) : out;
    }

    void addKeys(test::GgufWriter& file) const
    {
        const auto count = [&](const char* key, std::size_t value) {
            if (value > 0)
                file.add(architecture + "." + key, static_cast<std::uint32_t>(value));
        };
        const auto real = [&](const char* key, std::initializer_list<const char*> names) {
            for (const char* name : names)
                if (config[QLatin1String(name)].isDouble())
                    file.add(architecture + "." + key,
                             static_cast<float>(config[QLatin1String(name)].toDouble()));
        };
        file.add("general.architecture", architecture.c_str());
        count("block_count", size({"num_hidden_layers", "n_layer"}));
        count("embedding_length", size({"hidden_size", "n_embd"}));
        count("feed_forward_length", size({"intermediate_size", "ffn_hidden_size", "n_inner"}));
        count("context_length", size({"max_position_embeddings", "n_positions"}));
        count("attention.head_count", heads());
        if (kvHeads() != heads())
            count("attention.head_count_kv", kvHeads());
        count("attention.key_length", size({"head_dim"}));
        count("attention.value_length", size({"head_dim"}));
        const bool isRms = architecture.starts_with("qwen") || architecture.starts_with("gemma")
            || architecture == "phi3" || architecture == "olmo2";
        const float eps = 1e-5F;
        file.add(architecture
                     + (isRms ? ".attention.layer_norm_rms_epsilon" : ".attention.layer_norm_epsilon"),
                 eps);
        real("rope.freq_base", {"rope_theta", "rotary_emb_base"});
        real("attn_logit_softcapping", {"attn_logit_softcapping"});
        real("final_logit_softcapping", {"final_logit_softcapping"});
        real("rope.freq_base_swa", {"rope_local_base_freq"});
        if (architecture == "gemma2" || architecture == "gemma3" || architecture == "phi3")
            count("attention.sliding_window", size({"sliding_window"}));
        count("attention.sliding_window_pattern", size({"sliding_window_pattern"}));
        for (const char* key : {"partial_rotary_factor", "rotary_pct"})
            if (config.contains(QLatin1String(key)))
                count("rope.dimension_count",
                      static_cast<std::size_t>(static_cast<double>(headSize())
                                               * config[QLatin1String(key)].toDouble()));
        if (config.contains("use_parallel_residual"))
            file.add(architecture + ".use_parallel_residual", config["use_parallel_residual"].toBool());
        if (const QJsonObject scaling = config["rope_scaling"].toObject(); !scaling.isEmpty()) {
            file.add(architecture + ".rope.scaling.type", "linear");
            file.add(architecture + ".rope.scaling.factor", static_cast<float>(scaling["factor"].toDouble()));
        }
    }

    /// One tensor [heads, d_head] of a layer's norms that are stored head by head; nothing for other tensors.
    void addStackedNorms(test::GgufWriter& file,
                         const std::map<std::string, test::StoredTensor>& tensors) const
    {
        const auto layers = size({"num_hidden_layers"});
        for (std::size_t layer = 0; layer < layers; ++layer)
            for (const std::string letter : {"q", "k"}) {
                std::vector<float> all;
                std::size_t rows = 0;
                const std::string stem =
                    "model.layers." + std::to_string(layer) + ".self_attn." + letter + "_layernorm.norms.";
                for (; tensors.contains(stem + std::to_string(rows) + ".weight"); ++rows)
                    for (const double value : tensors.at(stem + std::to_string(rows) + ".weight").values)
                        all.push_back(static_cast<float>(value));
                if (rows > 0)
                    file.addNumbers("blk." + std::to_string(layer) + ".attn_" + letter + "_norm.weight",
                                    {rows, all.size() / rows}, all);
            }
    }

    std::string file(const std::map<std::string, test::StoredTensor>& tensors) const
    {
        test::GgufWriter out;
        addKeys(out);
        for (const auto& [original, tensor] : tensors) {
            if (original.find(".norms.") != std::string::npos)
                continue;
            const test::StoredTensor converted = numbers(original, tensor);
            std::vector<float> values;
            for (const double value : converted.values)
                values.push_back(static_cast<float>(value));
            out.addNumbers(name(original), converted.shape, values);
        }
        addStackedNorms(out, tensors);
        return out.bytes();
    }
};

/// Writes the checkpoint, and beside it the same as GGUF. All numbers are multiples of 2^-20, also those with 1 added.
/// \returns the folder of the checkpoint
fs::path writeBoth(const fs::path& root, const GgufCase& which)
{
    test::FamilyModel model;
    const fs::path folder = root / "original";
    if (std::string(which.family) == "gpt2") {
        test::ToyOptions options = test::gpt2Options();
        model.tensors = test::writeToyModel(folder, options).tensors;
        QFile file(QString::fromStdString((folder / "config.json").string()));
        if (!file.open(QIODevice::ReadOnly))
            qFatal("no config.json");
        model.config = QJsonDocument::fromJson(file.readAll()).object();
    } else {
        model = test::familyModel(which.family);
    }
    if (which.change)
        which.change(model);
    for (auto& [name, tensor] : model.tensors)
        for (double& value : tensor.values)
            value = std::round(value * 0x1p20) * 0x1p-20;
    test::writeFamily(folder, model);
    std::ofstream(root / "m.gguf", std::ios::binary)
        << GgufConversion{model.config, which.architecture}.file(model.tensors);
    return folder;
}

double largestGap(const Matrix<double>& a, const Matrix<double>& b)
{
    return a.rows() == b.rows() && a.cols() == b.cols() ? (a - b).cwiseAbs().maxCoeff() : INFINITY;
}

} // namespace

class GgufFamiliesTest : public QObject {
    Q_OBJECT

private slots:
    void init() { m_folder = std::make_unique<QTemporaryDir>(); }

    void hasTheFunctionOfTheOriginal_data()
    {
        QTest::addColumn<int>("index");
        for (int i = 0; i < static_cast<int>(std::size(ggufCases)); ++i)
            QTest::newRow(ggufCases[i].family) << i;
    }
    void hasTheFunctionOfTheOriginal()
    {
        QFETCH(int, index);
        const fs::path folder = writeBoth(root(), ggufCases[index]);
        const auto model = test::loaded(root() / "m.gguf");
        const test::ReferenceRun reference = test::referenceForward(folder, ggufPrompt);
        const auto run = test::ran<double>(test::raw(model), ggufPrompt);
        QCOMPARE_LT(largestGap(run.logits, test::matrixOf(reference.logits)), 1e-10);
        QCOMPARE(run.patterns.size(), reference.patterns.size());
        for (std::size_t layer = 0; layer < run.patterns.size(); ++layer)
            for (std::size_t head = 0; head < run.patterns[layer].size(); ++head)
                QCOMPARE_LT(
                    largestGap(run.patterns[layer][head], test::matrixOf(reference.patterns[layer][head])),
                    1e-10);
    }

    void hasTheCircuitsOfTheOriginal_data() { hasTheFunctionOfTheOriginal_data(); }
    void hasTheCircuitsOfTheOriginal()
    {
        QFETCH(int, index);
        const fs::path folder = writeBoth(root(), ggufCases[index]);
        const auto model = test::loaded(root() / "m.gguf");
        const Circuits circuits(std::make_shared<const ProcessedWeights>(test::raw(model)));
        for (int layer = 0; layer < model->config().nLayers; ++layer)
            for (int head = 0; head < model->config().nHeads; ++head) {
                const auto stored = test::referenceHead(folder, std::size_t(layer), std::size_t(head));
                const Matrix<double> qk = test::matrixOf(stored.W_Q) * test::matrixOf(stored.W_K).transpose();
                const Matrix<double> ov = test::matrixOf(stored.W_V) * test::matrixOf(stored.W_O);
                QCOMPARE_LT(largestGap(circuits.qk({layer, head}).dense(), qk), 1e-12);
                QCOMPARE_LT(largestGap(circuits.ov({layer, head}).dense(), ov), 1e-12);
            }
    }

    void isDescribedAsTheOriginal_data() { hasTheFunctionOfTheOriginal_data(); }
    void isDescribedAsTheOriginal()
    {
        QFETCH(int, index);
        const fs::path folder = writeBoth(root(), ggufCases[index]);
        const auto found = readModelConfig({root() / "m.gguf", {}, {}});
        const auto expected = readModelConfig({folder, {}, {}});
        QVERIFY(test::isOk(found));
        QVERIFY(test::isOk(expected));
        const ModelConfig &a = found->config, &b = expected->config;
        QCOMPARE(a.nCtx, b.nCtx);
        QCOMPARE(a.dVocab, b.dVocab);
        QCOMPARE(a.nKvHeads, b.nKvHeads);
        QCOMPARE(a.normEps, b.normEps);
        QCOMPARE(a.tiedEmbeddings, b.tiedEmbeddings);
        QVERIFY(a.windows == b.windows);
        QVERIFY(a.rotary == b.rotary);
        QVERIFY(a.activation == b.activation);
        for (const std::string& warning : found->warnings)
            QVERIFY2(warning.find("unknown and ignored") == std::string::npos, warning.c_str());
    }

    /// The converter added the 1; adding it again would pass for a model.
    void a08AGgufOfGemmaHasTheOneInItsNorms()
    {
        const fs::path folder = writeBoth(root(), {"gemma2", "gemma2", scoresByHeadSize});
        const auto converted = test::loaded(root() / "m.gguf"), original = test::loaded(folder);
        QVERIFY(!converted->config().rmsUsesOffset);
        QVERIFY(original->config().rmsUsesOffset);
        const auto a = converted->read<double>(TensorKind::ln1_w, 0, 0);
        const auto b = original->read<double>(TensorKind::ln1_w, 0, 0);
        QCOMPARE_LT(largestGap(a, (b.array() + 1).matrix()), 1e-12);
        // Nor does the original's config beside the file add it.
        fs::copy_file(folder / "config.json", root() / "config.json");
        const auto beside = test::loaded(root() / "m.gguf");
        QVERIFY(!beside->config().rmsUsesOffset);
        QCOMPARE_LT(largestGap(test::ran<double>(test::raw(beside), ggufPrompt).logits,
                               test::matrixOf(test::referenceForward(folder, ggufPrompt).logits)),
                    1e-10);
    }

    /// One head_dim of 8 has four pairs. llama.cpp divides their frequencies by these numbers at every length.
    void divisorsOfTheFrequenciesAreReadFromTheFile()
    {
        const auto withDivisors = [&](const std::vector<float>& divisors) {
            test::GgufWriter file;
            file.add("general.architecture", "llama");
            for (const char* key : {"block_count", "embedding_length", "feed_forward_length"})
                file.add(std::string("llama.") + key, 16U);
            file.add("llama.context_length", 4096U)
                .add("llama.attention.head_count", 2U)
                .add("llama.attention.layer_norm_rms_epsilon", 1e-5F)
                .add("llama.rope.freq_base", 10000.0F)
                .addNumbers("rope_freqs.weight", {divisors.size()}, divisors)
                .addNumbers("token_embd.weight", {3, 16}, std::vector<float>(48, 1));
            std::ofstream(root() / "m.gguf", std::ios::binary) << file.bytes();
            return readModelConfig({root() / "m.gguf", {}, {}});
        };
        const auto read = withDivisors({1, 1, 2.5F, 8});
        QVERIFY(test::isOk(read));
        const std::vector<double> frequencies = rotaryFrequencies(read->config.rotary);
        const std::vector<double> expected{1, 0.1, 0.01 / 2.5, 0.001 / 8};
        QCOMPARE(frequencies.size(), expected.size());
        for (std::size_t i = 0; i < expected.size(); ++i)
            QVERIFY(std::abs(frequencies[i] / expected[i] - 1) < 1e-12);
        QCOMPARE(read->config.rotary.scaling.attentionFactor, 1.0);
        QCOMPARE(read->config.nCtx, 4096);
        QVERIFY(test::failsWith(withDivisors({1, 1, 2}), ErrorCode::Corrupt, "'short_factor'"));
        QVERIFY(test::failsWith(withDivisors({1, 1, 0, 2}), ErrorCode::Corrupt, "'short_factor'"));
    }

    void refusesWhatItCannotReorder()
    {
        test::GgufWriter file;
        file.add("general.architecture", "falcon");
        for (const char* key : {"block_count", "embedding_length", "feed_forward_length"})
            file.add(std::string("falcon.") + key, 12U);
        file.add("falcon.attention.head_count", 6U)
            .add("falcon.attention.head_count_kv", 2U)
            .add("falcon.attention.layer_norm_epsilon", 1e-5F)
            .addNumbers("blk.0.attn_qkv.weight", {21, 12}, std::vector<float>(252, 1));
        QVERIFY(test::failsWith(opened(file), ErrorCode::Corrupt, "of 6 heads over 2"));

        test::GgufWriter stray;
        stray.add("general.architecture", "falcon");
        for (const char* key : {"block_count", "embedding_length", "feed_forward_length"})
            stray.add(std::string("falcon.") + key, 12U);
        stray.add("falcon.attention.head_count", 6U)
            .add("falcon.attention.head_count_kv", 2U)
            .add("falcon.attention.layer_norm_epsilon", 1e-5F)
            .addNumbers("x.attn_qkv.weight", {20, 12}, std::vector<float>(240, 1));
        const auto kept = opened(stray);
        QVERIFY(test::isOk(kept));
        QCOMPARE(kept->tensors.size(), std::size_t(1));

        test::GgufWriter uneven;
        uneven.add("general.architecture", "gptneox");
        for (const char* key : {"block_count", "embedding_length", "feed_forward_length"})
            uneven.add(std::string("gptneox.") + key, 12U);
        uneven.add("gptneox.attention.head_count", 6U)
            .add("gptneox.attention.layer_norm_epsilon", 1e-5F)
            .addNumbers("blk.0.attn_qkv.weight", {35, 12}, std::vector<float>(420, 1));
        QVERIFY(test::failsWith(opened(uneven), ErrorCode::Corrupt, "queries, keys and values of 6 heads"));

        test::GgufWriter other;
        other.add("general.architecture", "mamba");
        QVERIFY(test::failsWith(opened(other), ErrorCode::Unsupported, "'mamba'"));
    }

    void layersDecideOnGemmasScores()
    {
        const auto scalar = [&](const char* architecture, std::uint32_t layers) {
            test::GgufWriter file;
            const std::string name(architecture);
            file.add("general.architecture", architecture)
                .add(name + ".block_count", layers)
                .add(name + ".embedding_length", 48U)
                .add(name + ".feed_forward_length", 7U)
                .add(name + ".attention.head_count", 4U)
                .add(name + ".attention.key_length", 8U)
                .add(name + ".attention.layer_norm_rms_epsilon", 1e-6F);
            const auto model = opened(file);
            if (!model)
                qFatal("%s", test::printed(model.error()).constData());
            return QJsonDocument::fromJson(QByteArray::fromStdString(model->config))
                .object()["query_pre_attn_scalar"]
                .toDouble();
        };
        QCOMPARE(scalar("gemma2", 26), 8.0);
        QCOMPARE(scalar("gemma2", 46), 12.0); // 27B
        QCOMPARE(scalar("gemma3", 34), 8.0);
        QCOMPARE(scalar("gemma3", 62), 12.0);
    }

private:
    static Result<GgufModel> opened(const test::GgufWriter& file)
    {
        const std::string bytes = file.bytes();
        const auto header = readGgufHeader(std::as_bytes(std::span(bytes)), "m.gguf");
        return header ? huggingFaceModel(*header, "m.gguf") : Result<GgufModel>(header.error());
    }
    fs::path root() const { return m_folder->path().toStdString(); }

    std::unique_ptr<QTemporaryDir> m_folder;
};

HEADWISE_TEST(GgufFamiliesTest)
#include "gguf_families_test.moc"
