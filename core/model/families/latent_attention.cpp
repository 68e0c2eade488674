#include "core/model/families/family_config.h"

#include <nlohmann/json.hpp>

#include <cmath>

// DeepSeek-V2: keys and values through a latent, and experts beside one that serves every token.
// Source: DeepSeek-AI, "DeepSeek-V2", section 2, and the modeling_deepseek.py of its files.

namespace headwise {
namespace {

using enum TensorKind;

struct LatentSizes {
    int rotated, plain, value; ///< Components of a head.
    int queries, keys;         ///< Widths of the latents; 0: queries have none.
};

LatentSizes readLatentSizes(FamilyReading& reading)
{
    ConfigReader& reader = reading.reader;
    const int standard = reader.isAbsent("q_lora_rank") ? 1536 : 0;
    const LatentSizes sizes{reader.size({"qk_rope_head_dim"}, 64), reader.size({"qk_nope_head_dim"}, 128),
                            reader.size({"v_head_dim"}, 128),
                            reader.optionalSize({"q_lora_rank"}).value_or(standard),
                            reader.size({"kv_lora_rank"}, 512)};
    constexpr int most = 1 << 20;
    if (sizes.rotated > most || sizes.plain > most) {
        reader.contradiction("'qk_rope_head_dim' or 'qk_nope_head_dim' is more than a million");
        return {2, 1, 1, sizes.queries, sizes.keys};
    }
    if (sizes.value > sizes.rotated + sizes.plain)
        reader.refuse("v_head_dim", "at most qk_rope_head_dim + qk_nope_head_dim");
    if (reading.config.nKvHeads != reading.config.nHeads)
        reader.refuse("num_key_value_heads", "as many as num_attention_heads");
    return sizes;
}

/// Under YaRN the scores have a factor of their own, beside that of cosine and sine.
double yarnScoreFactor(const FamilyReading& reading)
{
    const RotaryScaling& scaling = reading.config.rotary.scaling;
    double factor = 1;
    for (const char* name : {"rope_scaling", "rope_parameters"}) {
        const auto found = reading.json.find(name);
        if (scaling.kind != RotaryScaling::Kind::Yarn || found == reading.json.end() || !found->is_object())
            continue;
        const nlohmann::json scale = found->value("mscale_all_dim", nlohmann::json());
        if (scale.is_number() && scaling.factor > 1)
            factor = 0.1 * scale.get<double>() * std::log(scaling.factor) + 1;
    }
    return factor * factor;
}

/// Numbers of the attention beyond four matrices [d, n_heads · d_head], in all layers.
double furtherAttention(const ModelConfig& c, const LatentSizes& s)
{
    const double d = c.dModel, n = c.nHeads, q = s.queries, k = s.keys;
    const double heads = n * c.dHead, values = n * s.value;
    const double queries = s.queries > 0 ? d * q + q + q * heads : d * heads;
    const double keys = d * (k + s.rotated) + k + k * (n * s.plain + values);
    return c.nLayers * (queries + keys + values * d - 4 * d * heads);
}

/// Experts from layer first_k_dense_replace on; n_shared_experts of them are one MLP that serves every token.
/// \returns their numbers beyond `nExperts` experts in each layer
double readExperts(FamilyReading& reading)
{
    ModelConfig& c = reading.config;
    ConfigReader& reader = reading.reader;
    const auto sizeOf = [&](std::string_view key, int standard) {
        return reader.optionalSize({key}).value_or(reader.isAbsent(key) ? standard : 0);
    };
    const int experts = sizeOf("n_routed_experts", 64), shared = sizeOf("n_shared_experts", 2);
    const int width = reader.size({"moe_intermediate_size"}, 1407);
    const int perToken = reader.size({"num_experts_per_tok"}, 6);
    const int dense = std::min(reader.count("first_k_dense_replace", 0), c.nLayers);
    const bool sumsToOne = reader.flag({"norm_topk_prob"}, false) && perToken > 1;
    if (experts == 0 || dense == c.nLayers)
        return 0;
    const double d = c.dModel, mixture = 3 * d * width * experts + d * experts;
    const double further = dense * (3 * d * c.dMlp - mixture) + (c.nLayers - dense) * 3 * d * width * shared;
    c.nExperts = experts;
    c.expertsPerToken = perToken;
    c.sharesOfAllExperts = !sumsToOne;
    c.dMlp = width;
    return further;
}

Eigen::Index rowsOf(const RecipeBook& book, const std::string& name)
{
    const auto shape = book.shapeOf(name + ".weight");
    return shape.size() == 2 ? shape[0] : 0;
}

void addGatedMlp(RecipeBook& book, const std::string& stem, Eigen::Index width, int layer, int expert)
{
    const Eigen::Index m = book.config().dModel;
    addLinear(book, stem + "gate_proj", {width, m, StoredBias::Absent}, {W_gate, b_gate, layer, expert});
    addLinear(book, stem + "up_proj", {width, m, StoredBias::Absent}, {W_in, b_up, layer, expert});
    addLinear(book, stem + "down_proj", {m, width, StoredBias::Absent}, {W_out, b_out, layer, expert});
}

} // namespace

void readDeepSeekV2(FamilyReading& reading)
{
    ModelConfig& c = reading.config;
    const LatentSizes sizes = readLatentSizes(reading);
    c.latentAttention = true;
    c.dHead = sizes.rotated + sizes.plain;
    c.rotary.dim = sizes.rotated;
    if (c.rotary.scaling.kind == RotaryScaling::Kind::Divisors)
        reading.reader.refuse("rope_scaling", "none, linear, dynamic, llama3 or yarn");
    c.attentionScale = yarnScoreFactor(reading) / std::sqrt(c.dHead);
    const double attention = furtherAttention(c, sizes);
    reading.biases.further = static_cast<std::int64_t>(attention + readExperts(reading));
}

void addLatentAttention(RecipeBook& book, const std::string& block, int layer)
{
    const ModelConfig& c = book.config();
    const std::string stem = block + "self_attn.";
    const Eigen::Index m = c.dModel, n = c.nHeads, h = c.dHead, rotated = c.rotary.dim, plain = h - rotated;
    const bool hasQueryLatent = book.isStored(stem + "q_a_proj.weight");
    const Eigen::Index q = hasQueryLatent ? rowsOf(book, stem + "q_a_proj") : m;
    const Eigen::Index latent = rowsOf(book, stem + "kv_a_proj_with_mqa") - rotated;
    const Eigen::Index value = rowsOf(book, stem + "kv_b_proj") / n - plain;
    const bool isComplete = latent > -rotated && value > -plain; // else what is missing is named below
    if (isComplete && (latent <= 0 || value <= 0 || value > h))
        return book.contradiction("'" + stem + "kv_a_proj_with_mqa.weight' and '" + stem
                                  + "kv_b_proj.weight' leave a latent of " + std::to_string(latent)
                                  + " and values of " + std::to_string(value) + " components");
    const auto linear = [&](const char* name, Eigen::Index outputs, Eigen::Index inputs) {
        return requireLinear(book, stem + name, {outputs, inputs, StoredBias::Absent});
    };
    if (hasQueryLatent) {
        addLinear(book, stem + "q_a_proj", {q, m, StoredBias::Absent}, {W_DQ, b_Q, layer});
        book.requireVector(q_latent_w, layer, stem + "q_a_layernorm.weight", q);
    }
    const StoredLinear queries = linear(hasQueryLatent ? "q_b_proj" : "q_proj", n * h, q);
    const StoredLinear down = linear("kv_a_proj_with_mqa", latent + rotated, m);
    const StoredLinear up = linear("kv_b_proj", n * (plain + value), latent);
    const StoredLinear output = linear("o_proj", m, n * value);
    book.requireVector(kv_latent_w, layer, stem + "kv_a_layernorm.weight", latent);
    if (book.hasFaults())
        return;
    addOutputs(book, down, {W_DKV, b_K, layer}, 0, latent);
    addOutputs(book, down, {W_KR, b_K, layer}, latent, rotated);
    for (int head = 0; head < c.nHeads; ++head) {
        addOutputs(book, queries, {W_UQ, b_Q, layer, head}, head * h, plain);
        addOutputs(book, queries, {W_QR, b_Q, layer, head}, head * h + plain, rotated);
        addOutputs(book, up, {W_UK, b_K, layer, head}, head * (plain + value), plain);
        addOutputs(book, up, {W_UV, b_V, layer, head}, head * (plain + value) + plain, value);
        book.add(W_O, layer, head, output.name + ".weight", {head * value, value, m, 1, n * value});
    }
}

void addDeepSeekMlp(RecipeBook& book, const std::string& block, int layer)
{
    const ModelConfig& c = book.config();
    const std::string stem = block + "mlp.", shared = stem + "shared_experts.";
    if (c.nExperts == 0)
        return addGatedMlp(book, stem, c.dMlp, layer, 0);
    // The layers before first_k_dense_replace have one MLP, of a width of its own.
    if (!book.isStored(stem + "gate.weight") && book.isStored(stem + "gate_proj.weight"))
        return addGatedMlp(book, stem, rowsOf(book, stem + "gate_proj"), layer, 0);
    addQwenExperts(book, block, layer);
    if (book.isStored(shared + "gate_proj.weight"))
        addGatedMlp(book, shared, rowsOf(book, shared + "gate_proj"), layer, c.nExperts);
}

} // namespace headwise
