#include "core/model/checkpoint_writer.h"

#include "core/files/json.h"
#include "core/model/families/unknown_fields.h"
#include "core/model/merges.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace headwise {

namespace {

using nlohmann::ordered_json;

ordered_json activationName(const ModelConfig& config)
{
    if (config.attentionOnly)
        return nullptr;
    switch (config.activation) {
    case Activation::Relu: return "relu";
    case Activation::Gelu: return "gelu";
    case Activation::GeluNew: return "gelu_new";
    case Activation::QuickGelu: return "quick_gelu";
    case Activation::Silu: return "silu";
    case Activation::SoluLn: return "solu_ln";
    case Activation::ReluSquared: break; // refused by whyNotTransformerLens
    }
    return nullptr;
}

ordered_json normalizationType(const ModelConfig& config)
{
    if (config.norm == NormKind::None)
        return nullptr;
    return normalizationName(config);
}

std::string_view positionalType(Positional positional)
{
    return positional == Positional::Learned ? "standard" : positionalName(positional);
}

/// Counts parameters as HookedTransformerConfig does: attention and MLP matrices.
std::int64_t parameterCount(const ModelConfig& config)
{
    const std::int64_t attention = std::int64_t{4} * config.dModel * config.dHead * config.nHeads;
    const std::int64_t mlp =
        config.attentionOnly ? 0 : std::int64_t{config.gatedMlp ? 3 : 2} * config.dModel * config.dMlp;
    return config.nLayers * (attention + mlp);
}

ordered_json valueOrNull(bool present, ordered_json value)
{
    return present ? std::move(value) : ordered_json(nullptr);
}

/// 10000 rather than 10000.0, as Python writes an int.
ordered_json plainNumber(double value)
{
    if (std::abs(value) < 1e15 && value == std::floor(value))
        return static_cast<std::int64_t>(value);
    return value;
}

void addFunction(ordered_json& keys, const ModelConfig& config, bool isGrouped)
{
    const bool rotary = config.positional == Positional::Rotary;
    keys["n_layers"] = config.nLayers;
    keys["d_model"] = config.dModel;
    keys["n_ctx"] = config.nCtx;
    keys["d_head"] = config.dHead;
    keys["n_heads"] = config.nHeads;
    keys["n_key_value_heads"] = valueOrNull(isGrouped, config.nKvHeads);
    keys["d_mlp"] = valueOrNull(!config.attentionOnly, config.dMlp);
    keys["act_fn"] = activationName(config);
    keys["d_vocab"] = config.dVocab;
    keys["d_vocab_out"] = config.dVocabOut;
    keys["eps"] = config.normEps;
    keys["normalization_type"] = normalizationType(config);
    keys["final_rms"] = config.finalNorm == NormKind::Rms && config.norm != NormKind::Rms;
    keys["rmsnorm_uses_offset"] = config.rmsUsesOffset;
    keys["uses_rms_norm"] = config.norm == NormKind::Rms;
    keys["layer_norm_folding"] = false;
    keys["attention_dir"] = config.bidirectional ? "bidirectional" : "causal";
    keys["attn_only"] = config.attentionOnly;
    keys["gated_mlp"] = config.gatedMlp;
    keys["parallel_attn_mlp"] = config.parallelBlocks;
    keys["positional_embedding_type"] = positionalType(config.positional);
    keys["rotary_dim"] = valueOrNull(rotary, config.rotary.dim);
    keys["rotary_base"] = rotary ? plainNumber(config.rotary.base) : ordered_json(10000);
    keys["rotary_base_local"] = nullptr;
    keys["rotary_scaling_factor"] = 1.0;
    keys["rotary_adjacent_pairs"] = rotary && config.rotary.adjacentPairs;
    keys["use_attn_scale"] = true;
    keys["attn_scale"] = 1 / config.attentionScale;
    keys["scale_attn_by_inverse_layer_idx"] = config.scaleByInverseLayer;
    keys["attn_scores_soft_cap"] = config.attentionSoftCap > 0 ? config.attentionSoftCap : -1.0;
    keys["output_logits_soft_cap"] = config.outputSoftCap > 0 ? config.outputSoftCap : -1.0;
    keys["tie_word_embeddings"] = false;
    if (config.bosTokenId)
        keys["bos_token_id"] = *config.bosTokenId;
}

/// Adds parts that only some architectures have.
void addOptionalParts(ordered_json& keys, const ModelConfig& config)
{
    keys["use_qk_norm"] = config.qkNorm != NormKind::None;
    keys["use_normalization_before_and_after"] = config.hasPostNorms;
    keys["use_local_attn"] = !config.windows.empty();
    keys["window_size"] = nullptr;
    keys["attn_types"] = nullptr;
    if (!config.windows.empty()) {
        keys["window_size"] = *std::max_element(config.windows.begin(), config.windows.end());
        keys["attn_types"] = ordered_json::array();
        for (const int window : config.windows)
            keys["attn_types"].push_back(window > 0 ? "local" : "global");
    }
    const RotaryScaling& scaling = config.rotary.scaling;
    const bool llama3 = scaling.kind == RotaryScaling::Kind::Llama3;
    keys["use_NTK_by_parts_rope"] = llama3;
    keys["NTK_by_parts_low_freq_factor"] = llama3 ? scaling.lowFactor : 1.0;
    keys["NTK_by_parts_high_freq_factor"] = llama3 ? scaling.highFactor : 4.0;
    keys["NTK_by_parts_factor"] = llama3 ? scaling.factor : 8.0;
    keys["NTK_original_ctx_len"] = llama3 ? plainNumber(scaling.originalContext) : ordered_json(8192);
}

/// Adds the keys of parts that only other architectures have, switched off.
void addAbsentParts(ordered_json& keys)
{
    for (const char* key : {"post_embedding_ln", "use_yarn_rope", "norm_topk_prob", "load_in_4bit"})
        keys[key] = false;
    for (const char* key : {"num_experts", "experts_per_token", "relative_attention_max_distance",
                            "relative_attention_num_buckets", "decoder_start_token_id"})
        keys[key] = nullptr;
    keys["yarn_factor"] = 1.0;
    keys["yarn_attention_factor"] = 1.0;
    keys["yarn_beta_fast"] = 32.0;
    keys["yarn_beta_slow"] = 1.0;
    keys["yarn_original_max_position_embeddings"] = 4096;
}

/// Adds our own keys for skipless models.
void addSkipless(ordered_json& keys, const ModelConfig& config, const MergeSource& source)
{
    if (!config.skipless)
        return;
    keys["skipless"] = true;
    if (!config.merged)
        return;
    keys["merged"] = mergeName(*config.merged);
    keys["merged_from"] = source.path;
    keys["merged_from_sha256"] = source.sha256;
}

/// Adds keys that do not affect the function.
void addBookkeeping(ordered_json& keys, const ModelConfig& config)
{
    for (const char* key :
         {"use_attn_result", "use_split_qkv_input", "use_hook_mlp_in", "use_attn_in", "use_hook_tokens",
          "ungroup_grouped_query_attention", "from_checkpoint", "trust_remote_code"})
        keys[key] = false;
    for (const char* key :
         {"original_architecture", "tokenizer_name", "tokenizer_prepends_bos", "checkpoint_index",
          "checkpoint_label_type", "checkpoint_value", "seed", "device"})
        keys[key] = nullptr;
    keys["default_prepend_bos"] = true;
    keys["n_devices"] = 1;
    keys["n_params"] = parameterCount(config);
    keys["init_mode"] = "gpt2";
    keys["init_weights"] = true;
    keys["initializer_range"] = 0.8 / std::sqrt(config.dModel);
    keys["dtype"] = config.isFloat64 ? "float64" : "float32";
}

/// Writes null for the fields that no file states, and which they are.
void clearUnknown(ordered_json& keys, const ModelConfig& config)
{
    if (config.unknown.empty())
        return;
    const auto clear = [&](ConfigField field, const char* key) {
        if (!config.isKnown(field))
            keys[key] = nullptr;
    };
    clear(ConfigField::Activation, "act_fn");
    clear(ConfigField::Context, "n_ctx");
    clear(ConfigField::NormEps, "eps");
    clear(ConfigField::Positions, "positional_embedding_type");
    clear(ConfigField::RotaryBase, "rotary_base");
    keys[unknownFieldsKey] = namesOfUnknown(config.unknown);
}

} // namespace

std::string whyNotTransformerLens(const ModelConfig& config)
{
    using Kind = RotaryScaling::Kind;
    std::string what;
    const bool isRotary = config.positional == Positional::Rotary;
    if (isRotary && config.rotary.scaling.kind != Kind::None && config.rotary.scaling.kind != Kind::Llama3)
        what = "rotary frequencies that are not scaled as llama3's";
    else if (!config.layerRotary.empty())
        what = "rotary embeddings that differ from layer to layer";
    else if (config.hasSumNorms)
        what = "norms of the residual stream itself";
    else if (!config.hasPreNorms)
        what = "norms after its blocks and none before them";
    else if (config.residualFromNorm)
        what = "a residual stream taken after its norms";
    else if (config.needsEncoder)
        what = "layers that also read an encoder";
    else if (config.positional == Positional::Relative)
        what = "a learned bias of the scores by distance";
    else if (config.readsImages)
        what = "image patches for tokens";
    else if (config.hasHeadTransform)
        what = "a matrix and an activation before its unembedding";
    else if (config.embeddingNormSeesPositions)
        what = "a norm of its embeddings and positions";
    else if (config.latentAttention)
        what = "keys and values that come from a latent";
    else if (config.attentionSinks)
        what = "sinks beside its scores";
    else if (config.nExperts > 0)
        what = "a mixture of experts";
    else if (config.qkvLimit > 0)
        what = "queries, keys and values that are clipped";
    else if (config.positionsInQueriesAndKeys)
        what = "positions that only queries and keys read";
    else if (config.qkNorm == NormKind::LayerNorm || config.qkNormOverAllHeads)
        what = "query and key norms other than one RMSNorm per head";
    else if (config.activation == Activation::ReluSquared && !config.attentionOnly)
        what = "a squared ReLU";
    else if (config.alibiScale != 1)
        what = "ALiBi slopes with a factor";
    for (const int window : config.windows)
        if (what.empty() && window > 0
            && window != *std::max_element(config.windows.begin(), config.windows.end()))
            what = "attention windows of several sizes";
    if (what.empty())
        return what;
    return "This " + config.architecture + " model has " + what
        + ", which TransformerLens' layout has no keys for; analyse it from its own folder.";
}

MergeSource mergeSource(const ModelWeights& weights)
{
    if (!weights.config().merged) {
        std::error_code code;
        const std::filesystem::path path = std::filesystem::absolute(weights.file().path(), code);
        return {(code ? weights.file().path() : path).lexically_normal().string(), weights.file().sha256()};
    }
    const nlohmann::json config = jsonValue(weights.configText());
    const auto text = [&](const char* key) {
        const auto found = config.is_object() ? config.find(key) : config.end();
        return found != config.end() && found->is_string() ? found->get<std::string>() : std::string();
    };
    return {text("merged_from"), text("merged_from_sha256")};
}

bool isGrouped(const ProcessedWeights& weights)
{
    const ModelConfig& config = weights.original().config();
    return config.nKvHeads != config.nHeads;
}

std::string transformerLensConfig(const ModelConfig& config, bool isGrouped, const MergeSource& source)
{
    ordered_json keys;
    keys["model_name"] = config.name;
    addFunction(keys, config, isGrouped);
    addOptionalParts(keys, config);
    addAbsentParts(keys);
    addSkipless(keys, config, source);
    addBookkeeping(keys, config);
    clearUnknown(keys, config);
    return jsonText(keys, 2) + "\n";
}

} // namespace headwise
