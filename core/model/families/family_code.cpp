#include "core/model/families/family_config.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace headwise {

using nlohmann::json;

void readGpt2(FamilyReading& reading)
{
    if (!reading.reader.flag({"scale_attn_weights"}, true))
        reading.config.attentionScale = 1;
    reading.config.scaleByInverseLayer = reading.reader.flag({"scale_attn_by_inverse_layer_idx"}, false);
}

void readGemma(FamilyReading& reading)
{
    // Some old files say "gelu" under hidden_act and mean the tanh form, as the family's own code does.
    reading.config.activation = reading.reader.activation({"hidden_activation"}, "gelu_pytorch_tanh");
}

namespace {

/// A cap that is written as null is none; only an absent key means the family's own.
double readCap(ConfigReader& reader, std::string_view name, double standard)
{
    return std::max(0.0, reader.number({name}, reader.isAbsent(name) ? standard : 0));
}

/// Soft caps, and the number whose root the scores are divided by.
void readGemmaScores(FamilyReading& reading, double attentionCap, double outputCap)
{
    readGemma(reading);
    ConfigReader& reader = reading.reader;
    const double scalar = reader.number({"query_pre_attn_scalar"}, 256);
    if (scalar <= 0)
        reader.contradiction("'query_pre_attn_scalar' is " + shownValue(scalar)
                             + ", expected a positive number");
    reading.config.attentionScale = 1 / std::sqrt(scalar);
    reading.config.attentionSoftCap = readCap(reader, "attn_logit_softcapping", attentionCap);
    reading.config.outputSoftCap = readCap(reader, "final_logit_softcapping", outputCap);
}

} // namespace

void readGemma2(FamilyReading& reading)
{
    readGemmaScores(reading, 50, 30);
}

void readGemma3(FamilyReading& reading)
{
    readGemmaScores(reading, 0, 0);
}

void readMixtral(FamilyReading& reading)
{
    reading.config.nExperts = reading.reader.size({"num_local_experts"}, 8);
    reading.config.expertsPerToken = reading.reader.size({"num_experts_per_tok"}, 2);
}

void readOpt(FamilyReading& reading)
{
    ModelConfig& c = reading.config;
    ConfigReader& reader = reading.reader;
    const int embedded = reader.optionalSize({"word_embed_proj_dim"}).value_or(c.dModel);
    c.dEmbed = embedded == c.dModel ? 0 : embedded;
    c.normHasParameters = reader.flag({"layer_norm_elementwise_affine"}, true);
    // opt-350m alone: its norms stand behind the additions, and there is none at the end.
    c.hasSumNorms = !reader.flag({"do_layer_norm_before"}, true);
    c.hasPreNorms = !c.hasSumNorms;
    if (reader.flag({"_remove_final_layer_norm"}, false) || c.hasSumNorms)
        c.finalNorm = NormKind::None;
}

void readBloom(FamilyReading& reading)
{
    reading.config.residualFromNorm =
        reading.reader.flag({"apply_residual_connection_post_layernorm"}, false);
}

void readFalcon(FamilyReading& reading)
{
    ModelConfig& c = reading.config;
    ConfigReader& reader = reading.reader;
    const bool isNew =
        reader.flag({"new_decoder_architecture"}, reading.json.value("model_type", json()) == "RefinedWeb");
    const int groups = reader.optionalSize({"num_kv_heads", "n_head_kv"}).value_or(c.nHeads);
    const int shared = reader.flag({"multi_query"}, true) ? 1 : c.nHeads;
    c.nKvHeads = isNew ? groups : shared;
    c.parallelBlocks = c.parallelBlocks || isNew;
    reading.hasSecondNorm = isNew && reader.optionalSize({"num_ln_in_parallel_attn"}).value_or(2) == 2;
    if (!reader.flag({"alibi"}, false))
        return;
    c.positional = Positional::Alibi;
    c.rotary = {};
    c.alibiScale = c.attentionScale; // the slopes are added before the scores are scaled
}

void readStablelm(FamilyReading& reading)
{
    if (reading.reader.flag({"qk_layernorm"}, false))
        reading.config.qkNorm = NormKind::LayerNorm;
}

void readOlmo(FamilyReading& reading)
{
    reading.config.qkvLimit = std::max(0.0, reading.reader.number({"clip_qkv"}, 0));
}

namespace {

/// `no_rope_layers` [n_layers]: 1 (or true) where a layer rotates, 0 where it has no positions: the other way round than
/// its name. \returns [n_layers] true where the layer rotates
std::vector<bool> readRotatedLayers(FamilyReading& reading)
{
    ConfigReader& reader = reading.reader;
    const int interval = reader.size({"no_rope_layer_interval"}, 4);
    reader.ignore(Names{"no_rope_layers"});
    const std::size_t believed = believedLayers(reading.config);
    std::vector<bool> rotates;
    if (!reader.isGiven("no_rope_layers")) {
        for (std::size_t layer = 0; layer < believed; ++layer)
            rotates.push_back((layer + 1) % static_cast<std::size_t>(interval) != 0);
        return rotates;
    }
    const json& layers = reading.json["no_rope_layers"];
    const auto isFlag = [](const json& entry) {
        return entry.is_boolean() || (entry.is_number_integer() && (entry == 0 || entry == 1));
    };
    if (!layers.is_array() || !std::all_of(layers.begin(), layers.end(), isFlag)) {
        reader.refuse("no_rope_layers", "expected a list of 0 and 1");
        return std::vector<bool>(believed);
    }
    for (const json& entry : layers)
        rotates.push_back(entry == 1 || entry == true);
    if (static_cast<int>(rotates.size()) != reading.config.nLayers)
        reader.contradiction("'no_rope_layers' lists " + std::to_string(rotates.size())
                             + " layers, but there are " + std::to_string(reading.config.nLayers));
    rotates.resize(believed);
    return rotates;
}

} // namespace

void readSmollm3(FamilyReading& reading)
{
    for (const bool rotates : readRotatedLayers(reading))
        reading.config.layerRotary.push_back(rotates ? reading.config.rotary : Rotary{});
}

void readGpt1(FamilyReading& reading)
{
    // The family's "gelu" is the tanh form.
    if (reading.config.activation == Activation::Gelu)
        reading.config.activation = Activation::GeluNew;
}

void readNanoGpt(FamilyReading& reading)
{
    if (reading.reader.isAbsent("activation_function"))
        reading.reader.note(
            "The activation is assumed to be gelu because the file does not say; minGPT's later versions need --set activation_function=gelu_new.");
}

} // namespace headwise
