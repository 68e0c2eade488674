#include "core/model/families/families.h"
#include "core/model/families/linear_recipes.h"
#include "core/model/hf_config.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace headwise {
namespace {

using nlohmann::json;

std::vector<std::string> kindsIn(const json& list)
{
    std::vector<std::string> kinds;
    for (const json& kind : list)
        if (kind.is_string())
            kinds.push_back(kind.get<std::string>());
    return kinds;
}

/// [[[kinds…], times], …]: no more of it than one layer too many, whatever the times are.
std::vector<std::string> repeatedKinds(const json& types, std::size_t layers, ConfigReader& reader)
{
    std::vector<std::string> kinds;
    for (const json& item : types) {
        const bool isPair =
            item.is_array() && item.size() == 2 && item[0].is_array() && item[1].is_number_integer();
        const std::vector<std::string> repeated = isPair ? kindsIn(item[0]) : std::vector<std::string>();
        if (repeated.empty() || item[1].get<double>() < 0) {
            reader.contradiction("an entry of 'attention_types' is no list of kinds with a count of repeats");
            return kinds;
        }
        const auto times = static_cast<std::size_t>(std::min(item[1].get<double>(), double(layers) + 1));
        for (std::size_t i = 0; i < times && kinds.size() <= layers; ++i)
            kinds.insert(kinds.end(), repeated.begin(), repeated.end());
    }
    return kinds;
}

/// `attention_layers` is the list itself; `attention_types` is one that repeats.
std::vector<std::string> layerKinds(const ModelConfig& c, const json& config, ConfigReader& reader)
{
    static constexpr std::string_view names[] = {"attention_layers", "attention_types"};
    reader.ignore(names);
    std::vector<std::string> kinds;
    const std::size_t layers = believedLayers(c);
    for (const std::string_view name : names)
        if (reader.isGiven(name) && !config.find(name)->is_array())
            reader.contradiction("'" + std::string(name) + "' is not a list");
    if (reader.isGiven("attention_layers")) {
        kinds = kindsIn(config["attention_layers"]);
    } else if (reader.isGiven("attention_types")) {
        kinds = repeatedKinds(config["attention_types"], layers, reader);
    } else {
        for (std::size_t layer = 0; layer < layers; ++layer)
            kinds.emplace_back(layer % 2 == 0 ? "global" : "local");
    }
    if (kinds.size() != layers)
        reader.contradiction("'attention_types' speaks of "
                             + std::string(kinds.size() > layers ? "more" : std::to_string(kinds.size()))
                             + " layers, and there are " + std::to_string(c.nLayers));
    return kinds;
}

std::vector<int> readGptNeoWindows(const ModelConfig& c, const json& config, ConfigReader& reader)
{
    const int window = reader.size({"window_size"}, 256);
    std::vector<bool> slides;
    for (const std::string& kind : layerKinds(c, config, reader)) {
        if (kind != "global" && kind != "local")
            reader.contradiction("an attention layer is of kind '" + kind + "', expected global or local");
        slides.push_back(kind == "local");
    }
    return windowsOf(slides, window);
}

/// The TinyStories models were trained on 512 positions; the others of their 2048 rows are noise.
void capContext(ModelConfig& c, const json& config, std::string_view file, ConfigReader& reader)
{
    constexpr int trained = 512;
    const std::optional<int> wanted = reader.optionalSize({"n_ctx"});
    const json name = config.value("_name_or_path", json());
    const bool isTiny = file.find("TinyStories") != std::string_view::npos
        || (name.is_string() && name.get<std::string>().find("TinyStories") != std::string::npos);
    if (wanted)
        c.nCtx = std::min(c.nCtx, *wanted);
    if (wanted || !isTiny || c.nCtx <= trained)
        return;
    reader.note("Positions from " + std::to_string(trained)
                + " on were never trained in TinyStories models and are left out; --set n_ctx="
                + std::to_string(c.nCtx) + " reads all of them.");
    c.nCtx = trained;
}

Result<ModelDescription> readGptNeoConfig(const json& config, std::string_view file)
{
    ConfigReader reader(config, file);
    ModelConfig c;
    c.architecture = "gpt_neo";
    c.nLayers = reader.size({"num_layers", "num_hidden_layers"}, 24);
    c.nHeads = c.nKvHeads = reader.size({"num_heads", "num_attention_heads"}, 16);
    c.dModel = reader.size({"hidden_size"}, 2048);
    splitHeads(c, reader);
    c.dMlp = readMlpWidth(c, reader, {"intermediate_size"});
    c.dVocab = c.dVocabOut = reader.size({"vocab_size"}, 50257);
    c.nCtx = reader.size({"max_position_embeddings"}, 2048);
    capContext(c, config, file, reader);
    c.normEps = reader.number({"layer_norm_epsilon"}, 1e-5);
    c.attentionScale = 1; // The family does not divide by √d_head.
    c.windows = readGptNeoWindows(c, config, reader);
    c.activation = reader.activation({"activation_function"}, "gelu_new");
    c.tiedEmbeddings = reader.flag({"tie_word_embeddings"}, true);
    c.bosTokenId = reader.optionalId({"bos_token_id"});
    finishHuggingFaceKeys(c, reader);
    return describe(std::move(c), reader, {.mlp = true, .attentionOutput = true});
}

bool isGptNeoBuffer(std::string_view name, std::size_t rank)
{
    return (name.ends_with(".attention.bias") && rank > 1) || name.ends_with(".attention.masked_bias")
        || name == "score.weight";
}

void addGptNeoLayer(RecipeBook& book, const std::string& block, int layer)
{
    using enum TensorKind;
    const ModelConfig& c = book.config();
    const Eigen::Index m = c.dModel, f = c.dMlp;
    const std::string attention = block + "attn.attention.";
    const auto heads = [&](const char* name, TensorKind weight, TensorKind bias) {
        addHeads(book, requireLinear(book, attention + name, m, m, StoredBias::Absent), {weight, bias, layer},
                 c.nHeads);
    };
    addNorm(book, block + "ln_1", c.norm, {ln1_w, ln1_b, layer});
    addNorm(book, block + "ln_2", c.norm, {ln2_w, ln2_b, layer});
    heads("q_proj", W_Q, b_Q);
    heads("k_proj", W_K, b_K);
    heads("v_proj", W_V, b_V);
    addOutputHeads(book, attention + "out_proj", layer, StoredBias::Present);
    // GPT-2's names, but nn.Linear's layout.
    addLinear(book, block + "mlp.c_fc", {f, m, StoredBias::Present}, {W_in, b_in, layer});
    addLinear(book, block + "mlp.c_proj", {m, f, StoredBias::Present}, {W_out, b_out, layer});
}

Result<ModelWeights> loadGptNeo(const ModelConfig& config, std::shared_ptr<const WeightMap> file)
{
    RecipeBook book(config, std::move(file));
    const std::string prefix = book.isStored("wte.weight") ? "" : "transformer.";
    book.addTiedEmbeddings(prefix + "wte.weight", "lm_head.weight");
    book.addPositions(prefix + "wpe.weight", 0);
    for (int layer = 0; layer < config.nLayers; ++layer)
        addGptNeoLayer(book, prefix + "h." + std::to_string(layer) + ".", layer);
    addNorm(book, prefix + "ln_f", config.finalNorm, {TensorKind::ln_final_w, TensorKind::ln_final_b, 0});
    book.ignore(isGptNeoBuffer);
    return book.finish();
}

} // namespace

const Architecture& gptNeo()
{
    static constexpr Architecture row{"gpt_neo", nullptr, readGptNeoConfig, loadGptNeo};
    return row;
}

} // namespace headwise
