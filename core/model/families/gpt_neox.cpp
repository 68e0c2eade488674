#include "core/model/families/families.h"
#include "core/model/families/linear_recipes.h"
#include "core/model/hf_config.h"

#include <nlohmann/json.hpp>

#include <cmath>

namespace headwise {
namespace {

using nlohmann::json;

Result<ModelDescription> readGptNeoxConfig(const json& config, std::string_view file)
{
    ConfigReader reader(config, file);
    ModelConfig c;
    c.architecture = "gpt_neox";
    c.nLayers = reader.size({"num_hidden_layers"}, 44);
    c.nHeads = c.nKvHeads = reader.size({"num_attention_heads"}, 64);
    c.dModel = reader.size({"hidden_size"}, 6144);
    splitHeads(c, reader);
    c.dMlp = reader.size({"intermediate_size"}, 24576);
    c.dVocab = c.dVocabOut = reader.size({"vocab_size"}, 50432);
    c.nCtx = reader.size({"max_position_embeddings"}, 2048);
    c.normEps = reader.number({"layer_norm_eps"}, 1e-5);
    c.positional = Positional::Rotary;
    c.rotary = readRotary(c, config, reader, 10000, 0.25);
    c.attentionScale = 1 / std::sqrt(c.dHead);
    c.parallelBlocks = reader.flag({"use_parallel_residual"}, true);
    c.activation = reader.activation({"hidden_act"}, "gelu");
    c.attentionBiases = reader.flag({"attention_bias"}, true);
    c.tiedEmbeddings = reader.flag({"tie_word_embeddings"}, false);
    c.bosTokenId = reader.optionalId({"bos_token_id"});
    finishHuggingFaceKeys(c, reader);
    const BiasPresence biases{.attention = *c.attentionBiases, .mlp = true};
    return describe(std::move(c), reader, biases);
}

bool isGptNeoxBuffer(std::string_view name, std::size_t rank)
{
    return (name.ends_with(".attention.bias") && rank > 1) || name.ends_with(".attention.masked_bias")
        || name.ends_with(".rotary_emb.inv_freq") || name == "score.weight";
}

/// One fused matrix; each head has its own q, k and v rows, one after the other.
void addGptNeoxAttention(RecipeBook& book, const std::string& attention, int layer)
{
    using enum TensorKind;
    const ModelConfig& c = book.config();
    const Eigen::Index m = c.dModel, h = c.dHead;
    const StoredBias bias = storedBias(c.attentionBiases);
    const StoredLinear fused = requireLinear(book, attention + "query_key_value", 3 * m, m, bias);
    for (int head = 0; head < c.nHeads && (fused.hasWeight || fused.hasBias); ++head) {
        const Eigen::Index first = 3 * h * head;
        addHead(book, fused, {W_Q, b_Q, layer}, head, first);
        addHead(book, fused, {W_K, b_K, layer}, head, first + h);
        addHead(book, fused, {W_V, b_V, layer}, head, first + 2 * h);
    }
    addOutputHeads(book, attention + "dense", layer, bias);
}

Result<ModelWeights> loadGptNeox(const ModelConfig& config, std::shared_ptr<const WeightMap> file)
{
    using enum TensorKind;
    RecipeBook book(config, std::move(file));
    const std::string prefix = book.isStored("embed_in.weight") ? "" : "gpt_neox.";
    const Eigen::Index m = config.dModel, f = config.dMlp;
    book.addTiedEmbeddings(prefix + "embed_in.weight", "embed_out.weight");
    for (int layer = 0; layer < config.nLayers; ++layer) {
        const std::string block = prefix + "layers." + std::to_string(layer) + ".";
        addNorm(book, block + "input_layernorm", config.norm, {ln1_w, ln1_b, layer});
        addNorm(book, block + "post_attention_layernorm", config.norm, {ln2_w, ln2_b, layer});
        addGptNeoxAttention(book, block + "attention.", layer);
        addLinear(book, block + "mlp.dense_h_to_4h", {f, m, StoredBias::Present}, {W_in, b_in, layer});
        addLinear(book, block + "mlp.dense_4h_to_h", {m, f, StoredBias::Present}, {W_out, b_out, layer});
    }
    addNorm(book, prefix + "final_layer_norm", config.finalNorm, {ln_final_w, ln_final_b, 0});
    book.ignore(isGptNeoxBuffer);
    return book.finish();
}

} // namespace

const Architecture& gptNeoX()
{
    static constexpr Architecture row{"gpt_neox", nullptr, readGptNeoxConfig, loadGptNeox};
    return row;
}

} // namespace headwise
