#include "core/model/families/families.h"
#include "core/model/families/linear_recipes.h"
#include "core/model/hf_config.h"

#include <nlohmann/json.hpp>

#include <cmath>

namespace headwise {
namespace {

using nlohmann::json;

Result<ModelDescription> readGptJConfig(const json& config, std::string_view file)
{
    ConfigReader reader(config, file);
    ModelConfig c;
    c.architecture = "gptj";
    c.nLayers = reader.size({"n_layer", "num_hidden_layers"}, 28);
    c.nHeads = c.nKvHeads = reader.size({"n_head", "num_attention_heads"}, 16);
    c.dModel = reader.size({"n_embd", "hidden_size"}, 4096);
    splitHeads(c, reader);
    c.dMlp = readMlpWidth(c, reader, {"n_inner"});
    c.dVocab = c.dVocabOut = reader.size({"vocab_size"}, 50400);
    c.nCtx = reader.size({"n_positions", "max_position_embeddings"}, 2048);
    c.normEps = reader.number({"layer_norm_epsilon"}, 1e-5);
    c.positional = Positional::Rotary;
    if (!reader.isAbsent("rotary_dim") && !reader.isGiven("rotary_dim"))
        reader.refuse("rotary_dim", "a number of components");
    c.rotary = {reader.size({"rotary_dim"}, 64), 10000, true};
    c.attentionScale = 1 / std::sqrt(c.dHead);
    c.parallelBlocks = true;
    c.activation = reader.activation({"activation_function"}, "gelu_new");
    c.tiedEmbeddings = reader.flag({"tie_word_embeddings"}, false);
    c.bosTokenId = reader.optionalId({"bos_token_id"});
    reader.onlySupports("scale_attn_weights", {"true"});
    finishHuggingFaceKeys(c, reader);
    return describe(std::move(c), reader, {.mlp = true, .unembed = true, .oneNorm = true});
}

bool isGptJBuffer(std::string_view name, std::size_t rank)
{
    return (name.ends_with(".attn.bias") && rank > 1) || name.ends_with(".attn.masked_bias")
        || name == "score.weight";
}

void addGptJLayer(RecipeBook& book, const std::string& block, int layer)
{
    using enum TensorKind;
    const ModelConfig& c = book.config();
    const Eigen::Index m = c.dModel, f = c.dMlp;
    const auto heads = [&](const char* name, TensorKind weight, TensorKind bias) {
        addHeads(book, requireLinear(book, block + name, m, m, StoredBias::Absent), {weight, bias, layer},
                 c.nHeads);
    };
    addNorm(book, block + "ln_1", c.norm, {ln1_w, ln1_b, layer}); // of attention and MLP
    heads("attn.q_proj", W_Q, b_Q);
    heads("attn.k_proj", W_K, b_K);
    heads("attn.v_proj", W_V, b_V);
    addOutputHeads(book, block + "attn.out_proj", layer, StoredBias::Absent);
    addLinear(book, block + "mlp.fc_in", {f, m, StoredBias::Present}, {W_in, b_in, layer});
    addLinear(book, block + "mlp.fc_out", {m, f, StoredBias::Present}, {W_out, b_out, layer});
}

Result<ModelWeights> loadGptJ(const ModelConfig& config, std::shared_ptr<const WeightMap> file)
{
    RecipeBook book(config, std::move(file));
    const std::string prefix = book.isStored("wte.weight") ? "" : "transformer.";
    book.addTiedEmbeddings(prefix + "wte.weight", "lm_head.weight");
    book.requireVector(TensorKind::b_U, 0, "lm_head.bias", config.dVocabOut);
    for (int layer = 0; layer < config.nLayers; ++layer)
        addGptJLayer(book, prefix + "h." + std::to_string(layer) + ".", layer);
    addNorm(book, prefix + "ln_f", config.finalNorm, {TensorKind::ln_final_w, TensorKind::ln_final_b, 0});
    book.ignore(isGptJBuffer);
    return book.finish();
}

} // namespace

const Architecture& gptJ()
{
    static constexpr Architecture row{"gptj", nullptr, readGptJConfig, loadGptJ};
    return row;
}

} // namespace headwise
