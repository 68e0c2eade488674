#include "core/model/families/families.h"
#include "core/model/families/linear_recipes.h"
#include "core/model/hf_config.h"

#include <nlohmann/json.hpp>

#include <cmath>

namespace headwise {
namespace {

using nlohmann::json;

/// Phi-1, 1.5 and 2.
Result<ModelDescription> readPhiConfig(const json& config, std::string_view file)
{
    ConfigReader reader(config, file);
    ModelConfig c;
    c.architecture = "phi";
    c.nLayers = reader.size({"num_hidden_layers", "n_layer"}, 24);
    c.nHeads = reader.size({"num_attention_heads", "n_head"}, 32);
    c.nKvHeads = reader.optionalSize({"num_key_value_heads"}).value_or(c.nHeads);
    c.dModel = reader.size({"hidden_size", "n_embd"}, 2048);
    splitHeads(c, reader, reader.optionalSize({"head_dim"}));
    c.dMlp = reader.size({"intermediate_size"}, 8192);
    c.dVocab = c.dVocabOut = reader.size({"vocab_size"}, 51200);
    c.nCtx = reader.size({"max_position_embeddings", "n_positions"}, 2048);
    c.normEps = reader.number({"layer_norm_eps"}, 1e-5);
    c.positional = Positional::Rotary;
    c.rotary = readRotary(c, config, reader, 10000, 0.5);
    c.attentionScale = 1 / std::sqrt(c.dHead);
    c.parallelBlocks = true;
    c.activation = reader.activation({"hidden_act"}, "gelu_new");
    c.tiedEmbeddings = reader.flag({"tie_word_embeddings"}, false);
    c.bosTokenId = reader.optionalId({"bos_token_id"});
    reader.onlySupports("qk_layernorm", {"false"});
    finishHuggingFaceKeys(c, reader);
    return describe(std::move(c), reader, {.attention = true, .mlp = true, .unembed = true, .oneNorm = true});
}

bool isPhiBuffer(std::string_view name, std::size_t /*rank*/)
{
    return name.ends_with("rotary_emb.inv_freq") || name == "score.weight";
}

void addPhiLayer(RecipeBook& book, const std::string& block, int layer)
{
    using enum TensorKind;
    const ModelConfig& c = book.config();
    const Eigen::Index m = c.dModel, h = c.dHead, f = c.dMlp;
    const auto heads = [&](const char* name, int count, TensorKind weight, TensorKind bias) {
        addHeads(book, requireLinear(book, block + name, count * h, m, StoredBias::Present),
                 {weight, bias, layer}, count);
    };
    addNorm(book, block + "input_layernorm", c.norm, {ln1_w, ln1_b, layer}); // of attention and MLP
    heads("self_attn.q_proj", c.nHeads, W_Q, b_Q);
    heads("self_attn.k_proj", c.nKvHeads, W_K, b_K);
    heads("self_attn.v_proj", c.nKvHeads, W_V, b_V);
    addOutputHeads(book, block + "self_attn.dense", layer, StoredBias::Present);
    addLinear(book, block + "mlp.fc1", {f, m, StoredBias::Present}, {W_in, b_in, layer});
    addLinear(book, block + "mlp.fc2", {m, f, StoredBias::Present}, {W_out, b_out, layer});
}

Result<ModelWeights> loadPhi(const ModelConfig& config, std::shared_ptr<const WeightMap> file)
{
    if (file->find("transformer.h.0.mixer.Wqkv.weight") >= 0)
        return Error{
            ErrorCode::Unsupported,
            "'" + file->path().string()
                + "' has the tensor names of the first Phi-2 upload (mixer.Wqkv); fetch the model again in the layout of PhiForCausalLM."};
    RecipeBook book(config, std::move(file));
    const std::string prefix = book.isStored("embed_tokens.weight") ? "" : "model.";
    book.addTiedEmbeddings(prefix + "embed_tokens.weight", "lm_head.weight");
    book.requireVector(TensorKind::b_U, 0, "lm_head.bias", config.dVocabOut);
    for (int layer = 0; layer < config.nLayers; ++layer)
        addPhiLayer(book, prefix + "layers." + std::to_string(layer) + ".", layer);
    addNorm(book, prefix + "final_layernorm", config.finalNorm,
            {TensorKind::ln_final_w, TensorKind::ln_final_b, 0});
    book.ignore(isPhiBuffer);
    return book.finish();
}

} // namespace

const Architecture& phi()
{
    static constexpr Architecture row{"phi", nullptr, readPhiConfig, loadPhi};
    return row;
}

} // namespace headwise
