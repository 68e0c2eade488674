#include "core/model/families/conv1d_recipes.h"
#include "core/model/families/families.h"
#include "core/model/families/linear_recipes.h"
#include "core/model/hf_config.h"

#include <nlohmann/json.hpp>

#include <cmath>

namespace headwise {
namespace {

using nlohmann::json;

Result<ModelDescription> readGpt1Config(const json& config, std::string_view file)
{
    ConfigReader reader(config, file);
    ModelConfig c;
    c.architecture = "openai-gpt";
    c.nLayers = reader.size({"n_layer", "num_hidden_layers"}, 12);
    c.nHeads = c.nKvHeads = reader.size({"n_head", "num_attention_heads"}, 12);
    c.dModel = reader.size({"n_embd", "hidden_size"}, 768);
    splitHeads(c, reader);
    c.dMlp = standardMlpWidth(c.dModel); // no key for it
    c.dVocab = c.dVocabOut = reader.size({"vocab_size"}, 40478);
    c.nCtx = reader.size({"n_positions", "n_ctx", "max_position_embeddings"}, 512);
    c.normEps = reader.number({"layer_norm_epsilon"}, 1e-5);
    c.hasPreNorms = false;
    c.hasSumNorms = true;
    c.finalNorm = NormKind::None;
    c.attentionScale = 1 / std::sqrt(c.dHead);
    // The family's "gelu" is the tanh form.
    c.activation = reader.activation({"afn"}, "gelu_new");
    if (c.activation == Activation::Gelu)
        c.activation = Activation::GeluNew;
    c.tiedEmbeddings = reader.flag({"tie_word_embeddings"}, true);
    c.bosTokenId = reader.optionalId({"bos_token_id"});
    finishHuggingFaceKeys(c, reader);
    static constexpr std::string_view harmless[] = {"predict_special_tokens", "n_special"};
    reader.ignore(harmless);
    return describe(std::move(c), reader, {.attention = true, .mlp = true});
}

bool isGpt1Buffer(std::string_view name, std::size_t rank)
{
    return (name.ends_with(".attn.bias") && rank > 1) || name.ends_with("position_ids");
}

Result<ModelWeights> loadGpt1(const ModelConfig& config, std::shared_ptr<const WeightMap> file)
{
    using enum TensorKind;
    RecipeBook book(config, std::move(file));
    const std::string prefix = book.isStored("tokens_embed.weight") ? "" : "transformer.";
    const Eigen::Index m = config.dModel, f = config.dMlp;
    book.addTiedEmbeddings(prefix + "tokens_embed.weight", "lm_head.weight");
    book.addPositions(prefix + "positions_embed.weight", 0);
    for (int layer = 0; layer < config.nLayers; ++layer) {
        const std::string block = prefix + "h." + std::to_string(layer) + ".";
        addConv1dAttention(book, block + "attn.", layer);
        addNorm(book, block + "ln_1", config.norm, {ln1_post_w, ln1_post_b, layer}); // ln_1(x + attention(x))
        addConv1d(book, block + "mlp.c_fc", {f, m}, {W_in, b_in, layer});
        addConv1d(book, block + "mlp.c_proj", {m, f}, {W_out, b_out, layer});
        addNorm(book, block + "ln_2", config.norm, {ln2_post_w, ln2_post_b, layer});
    }
    book.ignore(isGpt1Buffer);
    return book.finish();
}

} // namespace

const Architecture& gpt1()
{
    static constexpr Architecture row{"openai-gpt", nullptr, readGpt1Config, loadGpt1};
    return row;
}

} // namespace headwise
