#include "core/model/families/family_config.h"

#include <algorithm>
#include <cmath>
#include <limits>

// Rules of the families in decoder_families.cpp.

namespace headwise {

double factorOf(ConfigReader& reader, std::string_view key, double standard)
{
    const double factor = reader.number({key}, standard);
    if (std::isfinite(factor) && factor > 0)
        return factor;
    reader.contradiction("'" + std::string(key) + "' is " + std::to_string(factor)
                         + ", expected a positive number");
    return 1;
}

void readCohereLogits(FamilyReading& reading)
{
    reading.forms[TensorKind::W_U].factor = factorOf(reading.reader, "logit_scale", 0.0625);
}

void readCohere(FamilyReading& reading)
{
    readCohereLogits(reading);
    if (reading.reader.flag({"use_qk_norm"}, false))
        reading.config.qkNorm = NormKind::LayerNorm;
}

/// The factor of attention's and the MLP's outputs and the divisor of the logits are parts of the matrices that write them.
void readGranite(FamilyReading& reading)
{
    using enum TensorKind;
    ConfigReader& reader = reading.reader;
    reading.config.embeddingScale = factorOf(reader, "embedding_multiplier", 1);
    reading.config.attentionScale = factorOf(reader, "attention_multiplier", 1);
    const double residual = factorOf(reader, "residual_multiplier", 1);
    for (const TensorKind kind : {W_O, b_O, W_out, b_out})
        reading.forms[kind].factor = residual;
    reading.forms[W_U].factor = 1 / factorOf(reader, "logits_scaling", 1);
}

void readQwen3Moe(FamilyReading& reading)
{
    ModelConfig& c = reading.config;
    c.nExperts = reading.reader.size({"num_experts", "num_local_experts"}, 128);
    c.expertsPerToken = reading.reader.size({"num_experts_per_tok"}, 8);
    c.sharesOfAllExperts = !reading.reader.flag({"norm_topk_prob"}, false);
}

void readGptOss(FamilyReading& reading)
{
    ModelConfig& c = reading.config;
    ConfigReader& reader = reading.reader;
    c.nExperts = reader.size({"num_local_experts", "num_experts"}, 128);
    c.expertsPerToken = reader.size({"num_experts_per_tok", "experts_per_token"}, 4);
    c.attentionSinks = c.clampedGates = true;
    // Sinks, and the biases of router and experts.
    const double small = c.nHeads + c.nExperts * (1 + c.dModel + 2.0 * c.dMlp);
    reading.biases.further = static_cast<std::int64_t>(c.nLayers * small);
    if (reader.isGiven("rope_scaling") || reader.isGiven("rope_parameters"))
        return;
    RotaryScaling& scaling = c.rotary.scaling;
    scaling.kind = RotaryScaling::Kind::Yarn;
    scaling.wholePairs = false;
    scaling.factor = 32;
    scaling.originalContext = 4096;
    scaling.attentionFactor = 0.1 * std::log(scaling.factor) + 1;
    reader.assume("rope_scaling", "yarn, factor 32, 4096 positions, truncate false");
}

void readBaichuan(FamilyReading& reading)
{
    ModelConfig& c = reading.config;
    ConfigReader& reader = reading.reader;
    constexpr int vocabularyOfBaichuan2 = 125696;
    const bool isSecond = c.dVocab == vocabularyOfBaichuan2 || reader.isGiven("z_loss_weight");
    reader.ignore(Names{"z_loss_weight"});
    if (isSecond) {
        reading.forms[TensorKind::W_U].hasUnitColumns = true;
        reader.note("Each row of lm_head is divided by its length when it is read, as Baichuan 2 does.");
    }
    // 13B has ALiBi, and nothing in its config says so but that the number of positions has no limit.
    if (reader.isGiven("max_position_embeddings"))
        return;
    c.positional = Positional::Alibi;
    c.rotary = {};
    reader.forget({"rope_theta", "rope_scaling"});
}

void readMpt(FamilyReading& reading)
{
    ModelConfig& c = reading.config;
    ConfigReader& reader = reading.reader;
    const double width = static_cast<double>(c.dModel) * reader.size({"expansion_ratio"}, 4);
    if (width <= std::numeric_limits<int>::max())
        c.dMlp = static_cast<int>(width);
    else
        reader.contradiction("'expansion_ratio' makes MLPs of " + std::to_string(width) + " neurons");
    if ((c.nHeads & (c.nHeads - 1)) != 0)
        reader.refuse("n_heads", "MPT orders the slopes differently if their number is not a power of two");
    reader.onlySupports("norm_type", {"\"low_precision_layernorm\"", "\"layernorm\""});
    reader.onlySupports("attn_config.attn_type", {"\"multihead_attention\""});
    for (const std::string_view off : {"prefix_lm", "qk_ln", "qk_gn", "attn_uses_sequence_id", "rope"})
        reader.onlySupports("attn_config." + std::string(off), {"false"});
    reader.onlySupports("attn_config.alibi", {"true"});
    reader.onlySupports("attn_config.alibi_bias_max", {"8"});
    reader.onlySupports("attn_config.sliding_window_size", {"-1"});
    reader.ignore(Names{"attn_config.attn_pdrop", "attn_config.attn_impl", "attn_config.model_type"});
    if (reader.isGiven("attn_config.softmax_scale"))
        c.attentionScale = factorOf(reader, "attn_config.softmax_scale", 1);
    c.qkvLimit = std::max(0.0, reader.number({"attn_config.clip_qkv"}, 0));
}

} // namespace headwise
