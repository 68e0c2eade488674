#include "core/model/families/families.h"
#include "core/model/families/linear_recipes.h"
#include "core/model/hf_config.h"

#include <nlohmann/json.hpp>

#include <cmath>

namespace headwise {
namespace {

using nlohmann::json;

/// Of all spellings: falcon, and RefinedWeb (40B) and RefinedWebModel (7B, rw) from before it had that name.
Result<ModelDescription> readFalconConfig(const json& config, std::string_view file)
{
    ConfigReader reader(config, file);
    ModelConfig c;
    c.architecture = "falcon";
    c.nLayers = reader.size({"num_hidden_layers", "n_layer"}, 32);
    c.nHeads = reader.size({"num_attention_heads", "n_head"}, 71);
    c.dModel = reader.size({"hidden_size", "n_embed"}, 4544);
    splitHeads(c, reader);
    const bool isNew =
        reader.flag({"new_decoder_architecture"}, config.value("model_type", json()) == "RefinedWeb");
    const int groups = reader.optionalSize({"num_kv_heads", "n_head_kv"}).value_or(c.nHeads);
    const int shared = reader.flag({"multi_query"}, true) ? 1 : c.nHeads;
    c.nKvHeads = isNew ? groups : shared;
    c.parallelBlocks = reader.flag({"parallel_attn"}, true) || isNew;
    const bool twoNorms = isNew && reader.optionalSize({"num_ln_in_parallel_attn"}).value_or(2) == 2;
    c.dMlp = readMlpWidth(c, reader, {"ffn_hidden_size"});
    c.dVocab = c.dVocabOut = reader.size({"vocab_size"}, 65024);
    c.nCtx = reader.size({"max_position_embeddings", "seq_length"}, 2048);
    c.normEps = reader.number({"layer_norm_epsilon"}, 1e-5);
    c.attentionScale = 1 / std::sqrt(c.dHead);
    c.positional = reader.flag({"alibi"}, false) ? Positional::Alibi : Positional::Rotary;
    const Rotary rotary = readRotary(c, config, reader, 10000);
    if (c.positional == Positional::Rotary)
        c.rotary = rotary;
    else
        c.alibiScale = c.attentionScale; // the slopes are added before the scores are scaled
    c.attentionBiases = c.mlpBiases = reader.flag({"bias"}, false);
    c.activation = reader.activation({"activation", "hidden_act"}, "gelu");
    c.tiedEmbeddings = reader.flag({"tie_word_embeddings"}, true);
    c.bosTokenId = reader.optionalId({"bos_token_id"});
    reader.onlySupports("apply_residual_connection_post_layernorm", {"false"});
    finishHuggingFaceKeys(c, reader);
    const BiasPresence biases{.attention = c.attentionBiases.value_or(false),
                              .mlp = c.mlpBiases.value_or(false),
                              .oneNorm = c.parallelBlocks && !twoNorms};
    return describe(std::move(c), reader, biases);
}

/// For each key/value head the rows of its queries, then of the key, then of the value. That is all three layouts of the
/// family: with one key/value head all queries come first (7B), with one for each query q, k and v alternate (rw).
/// Source: Hugging Face's FalconAttention._split_heads.
void addFalconAttention(RecipeBook& book, const std::string& attention, int layer)
{
    using enum TensorKind;
    const ModelConfig& c = book.config();
    const Eigen::Index h = c.dHead;
    const Eigen::Index perGroup = c.nHeads / c.nKvHeads;
    const StoredBias bias = storedBias(c.attentionBiases);
    const StoredLinear fused =
        requireLinear(book, attention + "query_key_value", (c.nHeads + 2 * c.nKvHeads) * h, c.dModel, bias);
    for (int head = 0; head < c.nHeads; ++head)
        addHead(book, fused, {W_Q, b_Q, layer}, head,
                (head / perGroup * (perGroup + 2) + head % perGroup) * h);
    for (int group = 0; group < c.nKvHeads; ++group) {
        const Eigen::Index key = group * (perGroup + 2) + perGroup;
        addHead(book, fused, {W_K, b_K, layer}, group, key * h);
        addHead(book, fused, {W_V, b_V, layer}, group, (key + 1) * h);
    }
    addOutputHeads(book, attention + "dense", layer, bias);
}

/// Parallel blocks have one norm for both or one for each; in the others the second stands behind attention.
void addFalconNorms(RecipeBook& book, const std::string& block, int layer)
{
    using enum TensorKind;
    const ModelConfig& c = book.config();
    if (c.parallelBlocks && book.isStored(block + "ln_attn.weight")) {
        addNorm(book, block + "ln_attn", c.norm, {ln1_w, ln1_b, layer});
        addNorm(book, block + "ln_mlp", c.norm, {ln2_w, ln2_b, layer});
        return;
    }
    addNorm(book, block + "input_layernorm", c.norm, {ln1_w, ln1_b, layer});
    if (!c.parallelBlocks)
        addNorm(book, block + "post_attention_layernorm", c.norm, {ln2_w, ln2_b, layer});
}

bool isFalconBuffer(std::string_view name, std::size_t /*rank*/)
{
    return name.ends_with("rotary_emb.inv_freq") || name.ends_with(".inv_freq") || name == "score.weight";
}

Result<ModelWeights> loadFalcon(const ModelConfig& config, std::shared_ptr<const WeightMap> file)
{
    using enum TensorKind;
    RecipeBook book(config, std::move(file));
    const std::string prefix = book.isStored("word_embeddings.weight") ? "" : "transformer.";
    const Eigen::Index m = config.dModel, f = config.dMlp;
    const StoredBias bias = storedBias(config.mlpBiases);
    book.addTiedEmbeddings(prefix + "word_embeddings.weight", "lm_head.weight");
    for (int layer = 0; layer < config.nLayers; ++layer) {
        const std::string block = prefix + "h." + std::to_string(layer) + ".";
        addFalconNorms(book, block, layer);
        addFalconAttention(book, block + "self_attention.", layer);
        addLinear(book, block + "mlp.dense_h_to_4h", {f, m, bias}, {W_in, b_in, layer});
        addLinear(book, block + "mlp.dense_4h_to_h", {m, f, bias}, {W_out, b_out, layer});
    }
    addNorm(book, prefix + "ln_f", config.finalNorm, {ln_final_w, ln_final_b, 0});
    book.ignore(isFalconBuffer);
    return book.finish();
}

} // namespace

const Architecture& falcon()
{
    static constexpr Architecture row{"falcon", nullptr, readFalconConfig, loadFalcon};
    return row;
}

} // namespace headwise
