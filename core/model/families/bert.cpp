#include "core/model/families/families.h"
#include "core/model/families/linear_recipes.h"
#include "core/model/hf_config.h"

#include <nlohmann/json.hpp>

#include <cmath>

namespace headwise {
namespace {

using nlohmann::json;

Result<ModelDescription> readBertConfig(const json& config, std::string_view file)
{
    ConfigReader reader(config, file);
    ModelConfig c;
    c.architecture = "bert";
    c.nLayers = reader.size({"num_hidden_layers"}, 12);
    c.nHeads = c.nKvHeads = reader.size({"num_attention_heads"}, 12);
    c.dModel = reader.size({"hidden_size"}, 768);
    splitHeads(c, reader);
    c.dMlp = reader.size({"intermediate_size"}, 3072);
    c.dVocab = c.dVocabOut = reader.size({"vocab_size"}, 30522);
    c.nCtx = reader.size({"max_position_embeddings"}, 512);
    c.normEps = reader.number({"layer_norm_eps"}, 1e-12);
    c.hasPreNorms = false;
    c.hasSumNorms = true;
    c.embeddingNorm = NormKind::LayerNorm;
    c.embeddingNormSeesPositions = true;
    c.hasHeadTransform = true;
    c.bidirectional = !reader.flag({"is_decoder"}, false);
    c.attentionScale = 1 / std::sqrt(c.dHead);
    c.activation = reader.activation({"hidden_act"}, "gelu");
    c.tiedEmbeddings = reader.flag({"tie_word_embeddings"}, true);
    reader.onlySupports("position_embedding_type", {"\"absolute\""});
    finishHuggingFaceKeys(c, reader);
    static constexpr std::string_view harmless[] = {
        "type_vocab_size", "directionality",       "pooler_fc_size",      "pooler_num_attention_heads",
        "pooler_type",     "pooler_num_fc_layers", "pooler_size_per_head"};
    reader.ignore(harmless);
    return describe(std::move(c), reader, {.attention = true, .mlp = true, .unembed = true});
}

/// Heads for other tasks, and the output bias once more.
bool isUnused(std::string_view name, std::size_t /*rank*/)
{
    return name.ends_with("embeddings.position_ids") || name.find("pooler.") != std::string_view::npos
        || name.starts_with("cls.seq_relationship.") || name == "cls.predictions.decoder.bias"
        || name.starts_with("classifier.");
}

/// Converted from TensorFlow, a norm's weight is called gamma and its bias beta.
void addBertLayerNorm(RecipeBook& book, const std::string& name, int layer, TensorKind weight,
                      TensorKind bias)
{
    const bool isOld = book.isStored(name + ".gamma");
    book.requireVector(weight, layer, name + (isOld ? ".gamma" : ".weight"), book.config().dModel);
    book.requireVector(bias, layer, name + (isOld ? ".beta" : ".bias"), book.config().dModel);
}

void addBertLayer(RecipeBook& book, const std::string& block, int layer)
{
    using enum TensorKind;
    const ModelConfig& c = book.config();
    const Eigen::Index m = c.dModel, f = c.dMlp;
    const auto heads = [&](const char* name, TensorKind weight, TensorKind bias) {
        addHeads(book, requireLinear(book, block + name, m, m, StoredBias::Present), {weight, bias, layer},
                 c.nHeads);
    };
    heads("attention.self.query", W_Q, b_Q);
    heads("attention.self.key", W_K, b_K);
    heads("attention.self.value", W_V, b_V);
    addOutputHeads(book, block + "attention.output.dense", layer, StoredBias::Present);
    addBertLayerNorm(book, block + "attention.output.LayerNorm", layer, ln1_post_w, ln1_post_b);
    addLinear(book, block + "intermediate.dense", {f, m, StoredBias::Present}, {W_in, b_in, layer});
    addLinear(book, block + "output.dense", {m, f, StoredBias::Present}, {W_out, b_out, layer});
    addBertLayerNorm(book, block + "output.LayerNorm", layer, ln2_post_w, ln2_post_b);
}

/// A matrix, an activation and a norm before the tied embedding; a BertModel is saved without them.
void addMaskedHead(RecipeBook& book)
{
    using enum TensorKind;
    const Eigen::Index m = book.config().dModel;
    if (!book.isStored("cls.predictions.transform.dense.weight")) {
        book.config().hasHeadTransform = false;
        book.config().finalNorm = NormKind::None;
        book.warn(
            "The file has no head that predicts tokens (cls.predictions): what is shown as output is the last residual stream against the embedding.");
        return;
    }
    addLinear(book, "cls.predictions.transform.dense", {m, m, StoredBias::Present}, {W_head, b_head, 0});
    addBertLayerNorm(book, "cls.predictions.transform.LayerNorm", 0, ln_final_w, ln_final_b);
    const bool hasOwn = book.isStored("cls.predictions.bias");
    book.requireVector(b_U, 0, hasOwn ? "cls.predictions.bias" : "cls.predictions.decoder.bias",
                       book.config().dVocabOut);
}

Result<ModelWeights> loadBert(const ModelConfig& config, std::shared_ptr<const WeightMap> file)
{
    using enum TensorKind;
    RecipeBook book(config, std::move(file));
    const std::string prefix = book.isStored("embeddings.word_embeddings.weight") ? "" : "bert.";
    const std::string embeddings = prefix + "embeddings.";
    const Eigen::Index m = config.dModel;
    book.addTiedEmbeddings(embeddings + "word_embeddings.weight", "cls.predictions.decoder.weight");
    book.addPositions(embeddings + "position_embeddings.weight", 0);
    // Every token is taken as one of the first segment.
    const std::string segments = embeddings + "token_type_embeddings.weight";
    const auto shape = book.shapeOf(segments);
    if (book.require(segments, {shape.size() == 2 ? shape[0] : 2, m}))
        book.add(b_E, 0, 0, segments, layout::part(0, m));
    addBertLayerNorm(book, embeddings + "LayerNorm", 0, ln_embed_w, ln_embed_b);
    for (int layer = 0; layer < config.nLayers; ++layer)
        addBertLayer(book, prefix + "encoder.layer." + std::to_string(layer) + ".", layer);
    addMaskedHead(book);
    book.ignore(isUnused);
    return book.finish();
}

} // namespace

const Architecture& bert()
{
    static constexpr Architecture row{"bert", nullptr, readBertConfig, loadBert};
    return row;
}

} // namespace headwise
