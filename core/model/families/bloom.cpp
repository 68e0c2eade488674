#include "core/model/families/families.h"
#include "core/model/families/linear_recipes.h"
#include "core/model/hf_config.h"

#include <nlohmann/json.hpp>

#include <cmath>

namespace headwise {
namespace {

using nlohmann::json;

Result<ModelDescription> readBloomConfig(const json& config, std::string_view file)
{
    ConfigReader reader(config, file);
    ModelConfig c;
    c.architecture = "bloom";
    c.nLayers = reader.size({"n_layer", "num_hidden_layers"}, 2);
    c.nHeads = c.nKvHeads = reader.size({"n_head", "num_attention_heads"}, 8);
    c.dModel = reader.size({"hidden_size", "n_embed"}, 64);
    splitHeads(c, reader);
    c.dMlp = standardMlpWidth(c.dModel); // no key for it
    c.dVocab = c.dVocabOut = reader.size({"vocab_size"}, 250880);
    // The class knows no limit; the published files say what they were trained on.
    c.nCtx = reader.size({"seq_length", "max_position_embeddings", "n_positions"}, 2048);
    c.normEps = reader.number({"layer_norm_epsilon"}, 1e-5);
    c.embeddingNorm = NormKind::LayerNorm;
    c.positional = Positional::Alibi;
    c.attentionScale = 1 / std::sqrt(c.dHead);
    c.activation = Activation::GeluNew;
    c.residualFromNorm = reader.flag({"apply_residual_connection_post_layernorm"}, false);
    c.tiedEmbeddings = reader.flag({"tie_word_embeddings"}, true);
    c.bosTokenId = reader.optionalId({"bos_token_id"});
    finishHuggingFaceKeys(c, reader);
    static constexpr std::string_view harmless[] = {
        "offset_alibi",  "masked_softmax_fusion", "bias_dropout_fusion",       "slow_but_exact",
        "skip_bias_add", "skip_bias_add_qkv",     "attention_softmax_in_fp32", "n_inner"};
    reader.ignore(harmless);
    return describe(std::move(c), reader, {.attention = true, .mlp = true});
}

/// One fused matrix; each head has its own q, k and v rows, one after the other.
void addBloomAttention(RecipeBook& book, const std::string& attention, int layer)
{
    using enum TensorKind;
    const ModelConfig& c = book.config();
    const Eigen::Index m = c.dModel, h = c.dHead;
    const StoredLinear fused =
        requireLinear(book, attention + "query_key_value", 3 * m, m, StoredBias::Present);
    for (int head = 0; head < c.nHeads && (fused.hasWeight || fused.hasBias); ++head) {
        addHead(book, fused, {W_Q, b_Q, layer}, head, 3 * h * head);
        addHead(book, fused, {W_K, b_K, layer}, head, 3 * h * head + h);
        addHead(book, fused, {W_V, b_V, layer}, head, 3 * h * head + 2 * h);
    }
    addOutputHeads(book, attention + "dense", layer, StoredBias::Present);
}

bool isBloomBuffer(std::string_view name, std::size_t /*rank*/)
{
    return name == "score.weight";
}

Result<ModelWeights> loadBloom(const ModelConfig& config, std::shared_ptr<const WeightMap> file)
{
    using enum TensorKind;
    RecipeBook book(config, std::move(file));
    const std::string prefix = book.isStored("word_embeddings.weight") ? "" : "transformer.";
    const Eigen::Index m = config.dModel, f = config.dMlp;
    book.addTiedEmbeddings(prefix + "word_embeddings.weight", "lm_head.weight");
    addNorm(book, prefix + "word_embeddings_layernorm", config.embeddingNorm, {ln_embed_w, ln_embed_b, 0});
    for (int layer = 0; layer < config.nLayers; ++layer) {
        const std::string block = prefix + "h." + std::to_string(layer) + ".";
        addNorm(book, block + "input_layernorm", config.norm, {ln1_w, ln1_b, layer});
        addNorm(book, block + "post_attention_layernorm", config.norm, {ln2_w, ln2_b, layer});
        addBloomAttention(book, block + "self_attention.", layer);
        addLinear(book, block + "mlp.dense_h_to_4h", {f, m, StoredBias::Present}, {W_in, b_in, layer});
        addLinear(book, block + "mlp.dense_4h_to_h", {m, f, StoredBias::Present}, {W_out, b_out, layer});
    }
    addNorm(book, prefix + "ln_f", config.finalNorm, {ln_final_w, ln_final_b, 0});
    book.ignore(isBloomBuffer);
    return book.finish();
}

} // namespace

const Architecture& bloom()
{
    static constexpr Architecture row{"bloom", nullptr, readBloomConfig, loadBloom};
    return row;
}

} // namespace headwise
