#include "core/model/families/family_config.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

// DeepSeek-V2 and V3: keys and values through a latent, and experts beside one that serves every token.
// Source: DeepSeek-AI, "DeepSeek-V2", section 2, "DeepSeek-V3", section 2, and the modeling_deepseek.py of their files.

namespace headwise {
namespace {

using enum TensorKind;

/// Reads the widths of the latents and the number of rotated components. \returns the number of the others
int readLatentWidths(FamilyReading& reading)
{
    ConfigReader& reader = reading.reader;
    ModelConfig& c = reading.config;
    const int standard = reader.isAbsent("q_lora_rank") ? 1536 : 0;
    c.latents = {reader.optionalSize({"q_lora_rank"}).value_or(standard), reader.size({"kv_lora_rank"}, 512),
                 reader.size({"v_head_dim"}, 128)};
    c.rotary.dim = reader.size({"qk_rope_head_dim"}, 64);
    const int plain = reader.size({"qk_nope_head_dim"}, 128);
    constexpr int most = 1 << 20;
    if (c.rotary.dim > most || plain > most) {
        reader.contradiction("'qk_rope_head_dim' or 'qk_nope_head_dim' is more than a million");
        c.rotary.dim = 2;
        return 1;
    }
    if (c.latents.values > c.rotary.dim + plain)
        reader.refuse("v_head_dim", "at most qk_rope_head_dim + qk_nope_head_dim");
    if (c.nKvHeads != c.nHeads)
        reader.refuse("num_key_value_heads", "as many as num_attention_heads");
    return plain;
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

/// The experts of a config without their keys.
struct ExpertStandards {
    int experts, shared, width, perToken, denseLayers;
    bool sumToOne;
    double factor;
};

/// Reads the groups among whose experts a token chooses.
/// \param standard values of absent keys: n_group and topk_group
void readGroups(FamilyReading& reading, std::pair<int, int> standard, int votes)
{
    ConfigReader& reader = reading.reader;
    const ModelConfig& c = reading.config;
    const int groups = reader.optionalSize({"n_group"}).value_or(standard.first);
    const int kept = reader.optionalSize({"topk_group"}).value_or(standard.second);
    const int size = c.nExperts / groups;
    if (c.nExperts > 0 && groups > 1
        && (c.nExperts % groups != 0 || kept > groups || votes > size
            || static_cast<double>(kept) * size < c.expertsPerToken))
        return reader.contradiction("a token cannot choose " + std::to_string(c.expertsPerToken) + " of "
                                    + std::to_string(c.nExperts) + " experts from the best "
                                    + std::to_string(kept) + " of " + std::to_string(groups) + " groups");
    reading.config.mixture.groups = groups;
    reading.config.mixture.groupsPerToken = kept;
    reading.config.mixture.groupVotes = votes;
}

/// Experts from layer first_k_dense_replace on; n_shared_experts of them are one MLP that serves every token.
void readExperts(FamilyReading& reading, const ExpertStandards& standard)
{
    ModelConfig& c = reading.config;
    ConfigReader& reader = reading.reader;
    Mixture& mixture = c.mixture;
    const auto sizeOf = [&](std::string_view key, int absent) {
        return reader.optionalSize({key}).value_or(reader.isAbsent(key) ? absent : 0);
    };
    const int experts = sizeOf("n_routed_experts", standard.experts);
    const double shared = sizeOf("n_shared_experts", standard.shared);
    const int width = reader.size({"moe_intermediate_size"}, standard.width);
    const int perToken = reader.size({"num_experts_per_tok"}, standard.perToken);
    const int dense = std::min(reader.count("first_k_dense_replace", standard.denseLayers), c.nLayers);
    const bool sumsToOne = reader.flag({"norm_topk_prob"}, standard.sumToOne) && perToken > 1;
    mixture.factor = factorOf(reader, "routed_scaling_factor", standard.factor);
    if (experts == 0 || dense == c.nLayers)
        return;
    if (shared * width > std::numeric_limits<int>::max()) {
        reader.contradiction("'n_shared_experts' makes an MLP of " + std::to_string(shared * width)
                             + " neurons");
        return;
    }
    if (sumsToOne && mixture.factor != 1 && !mixture.hasSigmoids)
        reader.refuse("routed_scaling_factor",
                      "1 with norm_topk_prob, since programs differ in whether it applies then");
    mixture.denseLayers = dense;
    mixture.denseWidth = c.dMlp;
    mixture.sharedWidth = static_cast<int>(shared * width);
    c.nExperts = experts;
    c.expertsPerToken = perToken;
    c.sharesOfAllExperts = !sumsToOne;
    c.dMlp = width;
}

void readLatentModel(FamilyReading& reading, const ExpertStandards& standard)
{
    ModelConfig& c = reading.config;
    c.latentAttention = true;
    const int plain = readLatentWidths(reading);
    c.dHead = c.rotary.dim + plain;
    if (c.rotary.scaling.kind == RotaryScaling::Kind::Divisors)
        reading.reader.refuse("rope_scaling", "none, linear, dynamic, llama3 or yarn");
    c.attentionScale = yarnScoreFactor(reading) / std::sqrt(c.dHead);
    readExperts(reading, standard);
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
    ConfigReader& reader = reading.reader;
    reader.onlySupports("topk_method", {"\"greedy\"", "\"group_limited_greedy\""});
    readLatentModel(reading, {64, 2, 1407, 6, 0, false, 1});
    if (reading.json.value("topk_method", nlohmann::json()) == "group_limited_greedy")
        readGroups(reading, {1, 1}, 1);
    reader.ignore(Names{"n_group", "topk_group"}); // V2-Lite has them and does not use them.
}

void readDeepSeekV3(FamilyReading& reading)
{
    ModelConfig& c = reading.config;
    c.mixture.hasSigmoids = true;
    c.rotary.adjacentPairs = reading.reader.flag({"rope_interleave"}, true);
    readLatentModel(reading, {256, 1, 2048, 8, 3, true, 2.5});
    readGroups(reading, {8, 4}, 2);
}

void ignoreFurtherTokens(RecipeBook& book, const std::string& prefix)
{
    std::string found;
    for (int layer = book.config().nLayers;; ++layer) {
        const std::string block = prefix + "layers." + std::to_string(layer) + ".";
        if (!book.isStored(block + "eh_proj.weight"))
            break;
        book.ignore([&](std::string_view name, std::size_t) { return name.starts_with(block); });
        found += (found.empty() ? "" : ", ") + std::to_string(layer);
    }
    if (!found.empty())
        book.warn(
            "Layer " + found
            + " of the file follows the model's last one and predicts a further token (multi-token prediction); it is ignored.");
}

void addLatentAttention(RecipeBook& book, const std::string& block, int layer)
{
    const ModelConfig& c = book.config();
    const std::string stem = block + "self_attn.";
    const Eigen::Index m = c.dModel, n = c.nHeads, h = c.dHead, rotated = c.rotary.dim, plain = h - rotated;
    const Eigen::Index latent = c.latents.keys, value = c.latents.values;
    const bool hasQueryLatent = c.latents.queries > 0;
    const Eigen::Index q = hasQueryLatent ? c.latents.queries : m;
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
    const std::string stem = block + "mlp.";
    if (c.nExperts == 0)
        return addGatedMlp(book, stem, c.dMlp, layer, 0);
    if (layer < c.mixture.denseLayers)
        return addGatedMlp(book, stem, c.mixture.denseWidth, layer, 0);
    addQwenExperts(book, block, layer);
    if (c.mixture.hasSigmoids)
        book.requireVector(router_correction, layer, stem + "gate.e_score_correction_bias", c.nExperts);
    if (c.mixture.sharedWidth > 0)
        addGatedMlp(book, stem + "shared_experts.", c.mixture.sharedWidth, layer, c.nExperts);
}

} // namespace headwise
