#include "core/model/families/families.h"
#include "core/model/families/linear_recipes.h"
#include "core/model/hf_config.h"

#include <nlohmann/json.hpp>

#include <cmath>

namespace headwise {
namespace {

using nlohmann::json;

Result<ModelDescription> readOptConfig(const json& config, std::string_view file)
{
    ConfigReader reader(config, file);
    ModelConfig c;
    c.architecture = "opt";
    c.nLayers = reader.size({"num_hidden_layers"}, 12);
    c.nHeads = c.nKvHeads = reader.size({"num_attention_heads"}, 12);
    c.dModel = reader.size({"hidden_size"}, 768);
    splitHeads(c, reader);
    c.dMlp = reader.size({"ffn_dim"}, 3072);
    c.dVocab = c.dVocabOut = reader.size({"vocab_size"}, 50272);
    c.nCtx = reader.size({"max_position_embeddings"}, 2048);
    const int embedded = reader.optionalSize({"word_embed_proj_dim"}).value_or(c.dModel);
    c.dEmbed = embedded == c.dModel ? 0 : embedded;
    c.normEps = 1e-5; // no key changes it
    c.normHasParameters = reader.flag({"layer_norm_elementwise_affine"}, true);
    // opt-350m alone: its norms stand behind the additions, and there is none at the end.
    c.hasSumNorms = !reader.flag({"do_layer_norm_before"}, true);
    c.hasPreNorms = !c.hasSumNorms;
    if (reader.flag({"_remove_final_layer_norm"}, false) || c.hasSumNorms)
        c.finalNorm = NormKind::None;
    c.attentionScale = 1 / std::sqrt(c.dHead);
    c.activation = reader.activation({"activation_function"}, "relu");
    c.attentionBiases = c.mlpBiases = reader.flag({"enable_bias"}, true);
    c.tiedEmbeddings = reader.flag({"tie_word_embeddings"}, true);
    c.bosTokenId = reader.optionalId({"bos_token_id"});
    finishHuggingFaceKeys(c, reader);
    const BiasPresence biases{.attention = c.attentionBiases.value_or(false),
                              .mlp = c.mlpBiases.value_or(false)};
    return describe(std::move(c), reader, biases);
}

bool isOptBuffer(std::string_view name, std::size_t /*rank*/)
{
    return name == "score.weight";
}

void addOptLayer(RecipeBook& book, const std::string& block, int layer)
{
    using enum TensorKind;
    const ModelConfig& c = book.config();
    const Eigen::Index m = c.dModel, f = c.dMlp;
    const StoredBias bias = storedBias(c.attentionBiases);
    const auto heads = [&](const char* name, TensorKind weight, TensorKind biasKind) {
        addHeads(book, requireLinear(book, block + name, m, m, bias), {weight, biasKind, layer}, c.nHeads);
    };
    // Their names are the same wherever they stand; final_layer_norm is the MLP's.
    addNorm(book, block + "self_attn_layer_norm", c.norm,
            {c.hasSumNorms ? ln1_post_w : ln1_w, c.hasSumNorms ? ln1_post_b : ln1_b, layer});
    addNorm(book, block + "final_layer_norm", c.norm,
            {c.hasSumNorms ? ln2_post_w : ln2_w, c.hasSumNorms ? ln2_post_b : ln2_b, layer});
    heads("self_attn.q_proj", W_Q, b_Q);
    heads("self_attn.k_proj", W_K, b_K);
    heads("self_attn.v_proj", W_V, b_V);
    addOutputHeads(book, block + "self_attn.out_proj", layer, bias);
    addLinear(book, block + "fc1", {f, m, bias}, {W_in, b_in, layer});
    addLinear(book, block + "fc2", {m, f, bias}, {W_out, b_out, layer});
}

/// The matrices between stored embeddings and a wider residual stream.
void addProjections(RecipeBook& book, const std::string& decoder)
{
    const Eigen::Index m = book.config().dModel, e = book.config().dEmbed;
    if (e == 0)
        return;
    const std::string in = decoder + "project_in.weight", out = decoder + "project_out.weight";
    if (book.require(in, {m, e}))
        book.add(TensorKind::W_Eproj, 0, 0, in, layout::transposed(e, m));
    if (book.require(out, {e, m}))
        book.add(TensorKind::W_Uproj, 0, 0, out, layout::transposed(m, e));
}

Result<ModelWeights> loadOpt(const ModelConfig& config, std::shared_ptr<const WeightMap> file)
{
    using enum TensorKind;
    RecipeBook book(config, std::move(file));
    const std::string decoder = book.isStored("decoder.embed_tokens.weight") ? "decoder." : "model.decoder.";
    book.addTiedEmbeddings(decoder + "embed_tokens.weight", "lm_head.weight");
    addProjections(book, decoder);
    book.addPositions(decoder + "embed_positions.weight", 2); // the first two belong to no position
    for (int layer = 0; layer < config.nLayers; ++layer)
        addOptLayer(book, decoder + "layers." + std::to_string(layer) + ".", layer);
    addNorm(book, decoder + "final_layer_norm", config.finalNorm, {ln_final_w, ln_final_b, 0});
    book.ignore(isOptBuffer);
    return book.finish();
}

} // namespace

const Architecture& opt()
{
    static constexpr Architecture row{"opt", nullptr, readOptConfig, loadOpt};
    return row;
}

} // namespace headwise
