#include "core/model/families/llama_names.h"

#include "core/model/hf_config.h"

#include <cmath>

namespace headwise {

ModelConfig readLlamaNames(const nlohmann::json& config, ConfigReader& reader, const LlamaDefaults& defaults)
{
    ModelConfig c;
    c.architecture = defaults.architecture;
    c.nLayers = reader.size({"num_hidden_layers"}, defaults.nLayers);
    c.nHeads = reader.size({"num_attention_heads"}, defaults.nHeads);
    // Written as null it means as many as query heads; only an absent key means the family's own number.
    const int absentKv =
        reader.isAbsent("num_key_value_heads") ? defaults.nKvHeads.value_or(c.nHeads) : c.nHeads;
    c.nKvHeads = reader.optionalSize({"num_key_value_heads"}).value_or(absentKv);
    c.dModel = reader.size({"hidden_size"}, defaults.dModel);
    const std::optional<int> headSize = reader.optionalSize({"head_dim"});
    splitHeads(c, reader, headSize ? headSize : defaults.dHead);
    c.dMlp = reader.size({"intermediate_size"}, defaults.dMlp);
    c.dVocab = c.dVocabOut = reader.size({"vocab_size"}, defaults.dVocab);
    c.nCtx = reader.size({"max_position_embeddings"}, defaults.nCtx);
    c.norm = c.finalNorm = defaults.norm;
    c.normEps = defaults.norm == NormKind::Rms
        ? reader.number({"rms_norm_eps"}, defaults.normEps)
        : reader.number({"layer_norm_eps", "norm_eps"}, defaults.normEps);
    c.positional = Positional::Rotary;
    c.rotary = readRotary(c, config, reader, defaults.rotaryBase, defaults.rotaryPart);
    c.attentionScale = 1 / std::sqrt(c.dHead);
    c.gatedMlp = true;
    c.activation = reader.activation({"hidden_activation", "hidden_act"}, defaults.activation);
    c.tiedEmbeddings = reader.flag({"tie_word_embeddings"}, defaults.tied);
    c.bosTokenId = reader.optionalId({"bos_token_id"});
    reader.onlySupports("rope_interleaved", {"false"});
    finishHuggingFaceKeys(c, reader);
    return c;
}

namespace {

bool isLlamaNamesBuffer(std::string_view name, std::size_t /*rank*/)
{
    return name.ends_with("rotary_emb.inv_freq") || name.ends_with(".cos_cached")
        || name.ends_with(".sin_cached") || name == "score.weight"
        || name.find("vision_tower.") != std::string_view::npos
        || name.find("multi_modal_projector.") != std::string_view::npos;
}

void addLlamaNamesQkNorm(RecipeBook& book, const std::string& name, int layer, int heads, TensorKind kind)
{
    const ModelConfig& c = book.config();
    const Eigen::Index h = c.dHead;
    const Eigen::Index size = c.qkNormOverAllHeads ? heads * h : h;
    if (!book.require(name, {size}))
        return;
    for (int head = 0; head < heads; ++head)
        book.add(kind, layer, head, name, layout::part(c.qkNormOverAllHeads ? head * h : 0, h));
}

void addLlamaNamesAttention(RecipeBook& book, const std::string& attention, int layer,
                            const LlamaLayout& layout)
{
    using enum TensorKind;
    const ModelConfig& c = book.config();
    const Eigen::Index m = c.dModel, h = c.dHead, q = c.nHeads * h, kv = c.nKvHeads * h;
    if (layout.fused) {
        const StoredLinear fused = requireLinear(book, attention + "qkv_proj", q + 2 * kv, m, layout.qkv);
        addHeads(book, fused, {W_Q, b_Q, layer}, c.nHeads);
        addHeads(book, fused, {W_K, b_K, layer}, c.nKvHeads, q);
        addHeads(book, fused, {W_V, b_V, layer}, c.nKvHeads, q + kv);
    } else {
        const auto linear = [&](const char* name, Eigen::Index rows) {
            return requireLinear(book, attention + name, rows, m, layout.qkv);
        };
        addHeads(book, linear("q_proj", q), {W_Q, b_Q, layer}, c.nHeads);
        addHeads(book, linear("k_proj", kv), {W_K, b_K, layer}, c.nKvHeads);
        addHeads(book, linear("v_proj", kv), {W_V, b_V, layer}, c.nKvHeads);
    }
    addOutputHeads(book, attention + "o_proj", layer, layout.output);
    if (book.hasFaults()) // Nothing in the norms bounds the number of heads; the matrices did not have it.
        return;
    if (c.qkNorm != NormKind::None && layout.addQkNorms) {
        layout.addQkNorms(book, attention, layer);
    } else if (c.qkNorm != NormKind::None) {
        addLlamaNamesQkNorm(book, attention + "q_norm.weight", layer, c.nHeads, q_norm_w);
        addLlamaNamesQkNorm(book, attention + "k_norm.weight", layer, c.nKvHeads, k_norm_w);
    }
}

void addLlamaNamesMlp(RecipeBook& book, const std::string& mlp, int layer, const LlamaLayout& layout)
{
    using enum TensorKind;
    const Eigen::Index m = book.config().dModel, f = book.config().dMlp;
    // b_up stands inside the product: another place than the b_in of TransformerLens.
    if (layout.fused) {
        const StoredLinear fused = requireLinear(book, mlp + "gate_up_proj", 2 * f, m, layout.mlp);
        addRows(book, fused, {W_gate, b_gate, layer}, 0, f);
        addRows(book, fused, {W_in, b_up, layer}, f, f);
    } else {
        addLinear(book, mlp + "gate_proj", {f, m, layout.mlp}, {W_gate, b_gate, layer});
        addLinear(book, mlp + "up_proj", {f, m, layout.mlp}, {W_in, b_up, layer});
    }
    addLinear(book, mlp + "down_proj", {m, f, layout.mlp}, {W_out, b_out, layer});
}

/// Saved without its head a model has none, and as a part of a multimodal one there are two customs.
std::string prefixOf(const RecipeBook& book)
{
    for (const char* prefix : {"", "language_model.model.", "model.language_model."})
        if (book.isStored(std::string(prefix) + "embed_tokens.weight")
            || book.isStored(std::string(prefix) + "layers.0.self_attn.o_proj.weight"))
            return prefix;
    return "model.";
}

/// The norm called post_attention_layernorm stands before the MLP, unless the family has norms behind its blocks.
void addLlamaNamesNorms(RecipeBook& book, const std::string& block, int layer)
{
    using enum TensorKind;
    const ModelConfig& c = book.config();
    if (c.hasPreNorms)
        addNorm(book, block + "input_layernorm", c.norm, {ln1_w, ln1_b, layer});
    if (c.hasPostNorms) {
        addNorm(book, block + "post_attention_layernorm", c.norm, {ln1_post_w, ln1_post_b, layer});
        addNorm(book, block + "post_feedforward_layernorm", c.norm, {ln2_post_w, ln2_post_b, layer});
        if (c.hasPreNorms)
            addNorm(book, block + "pre_feedforward_layernorm", c.norm, {ln2_w, ln2_b, layer});
    } else if (!c.parallelBlocks) {
        addNorm(book, block + "post_attention_layernorm", c.norm, {ln2_w, ln2_b, layer});
    }
}

} // namespace

Result<ModelWeights> loadLlamaNames(const ModelConfig& config, std::shared_ptr<const WeightMap> file,
                                    const LlamaLayout& layout)
{
    RecipeBook book(config, std::move(file));
    const std::string prefix = prefixOf(book);
    const std::string output = prefix == "language_model.model." ? "language_model.lm_head" : "lm_head";
    book.addTiedEmbeddings(prefix + "embed_tokens.weight", output + ".weight");
    for (int layer = 0; layer < config.nLayers; ++layer) {
        const std::string block = prefix + "layers." + std::to_string(layer) + ".";
        addLlamaNamesNorms(book, block, layer);
        addLlamaNamesAttention(book, block + "self_attn.", layer, layout);
        if (layout.addMlp)
            layout.addMlp(book, block, layer);
        else
            addLlamaNamesMlp(book, block + "mlp.", layer, layout);
    }
    addNorm(book, prefix + "norm", config.finalNorm, {TensorKind::ln_final_w, TensorKind::ln_final_b, 0});
    book.ignore(isLlamaNamesBuffer);
    return book.finish();
}

} // namespace headwise
