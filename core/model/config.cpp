#include "core/model/config.h"

#include <algorithm>
#include <array>

namespace headwise {

namespace {

struct FieldRow {
    ConfigField field;
    std::string_view name, phrase, example;
};

constexpr std::array fieldRows{
    FieldRow{ConfigField::Activation, "activation", "the activation", "gelu"},
    FieldRow{ConfigField::Context, "context", "the context length", "2048"},
    FieldRow{ConfigField::NormEps, "norm_eps", "the epsilon of the norms", "1e-5"},
    FieldRow{ConfigField::Positions, "positions", "the kind of positions", "rotary"},
    FieldRow{ConfigField::RotaryBase, "rotary_base", "the rotary base", "10000"}};

const FieldRow& rowOf(ConfigField field)
{
    return *std::find_if(fieldRows.begin(), fieldRows.end(),
                         [&](const FieldRow& row) { return row.field == field; });
}

/// "the activation, the context length and the rotary base", and how to state them.
struct FieldWords {
    std::string list, pronoun, settings;
};

FieldWords wordsOf(const std::vector<UnknownField>& fields)
{
    FieldWords words;
    for (std::size_t i = 0; i < fields.size(); ++i) {
        const FieldRow& row = rowOf(fields[i].field);
        const std::string_view before = i == 0 ? "" : i + 1 == fields.size() ? " and " : ", ";
        words.list.append(before).append(row.phrase);
        words.settings.append(i == 0 ? "" : ",").append(fields[i].key).append("=").append(row.example);
    }
    words.pronoun = fields.size() == 1 ? "it" : "them";
    return words;
}

} // namespace

bool ModelConfig::isKnown(ConfigField field) const
{
    return std::none_of(unknown.begin(), unknown.end(),
                        [&](const UnknownField& one) { return one.field == field; });
}

std::string_view configFieldName(ConfigField field)
{
    return rowOf(field).name;
}

std::optional<ConfigField> parseConfigField(std::string_view name)
{
    for (const FieldRow& row : fieldRows)
        if (row.name == name)
            return row.field;
    return std::nullopt;
}

std::vector<ConfigField> forwardFields()
{
    return {ConfigField::Positions, ConfigField::RotaryBase, ConfigField::NormEps, ConfigField::Activation};
}

std::string whyUnknown(const ModelConfig& config, std::span<const ConfigField> needed, std::string_view who)
{
    std::vector<UnknownField> lacking;
    for (const UnknownField& one : config.unknown)
        if (std::find(needed.begin(), needed.end(), one.field) != needed.end())
            lacking.push_back(one);
    if (lacking.empty())
        return {};
    const FieldWords words = wordsOf(lacking);
    return std::string(who) + " needs " + words.list + ", which is unknown; state " + words.pronoun
        + " with --set " + words.settings + ".";
}

std::string unknownWarning(const ModelConfig& config)
{
    if (config.unknown.empty())
        return {};
    const FieldWords words = wordsOf(config.unknown);
    return "Headwise does not know " + words.list + ", so what needs " + words.pronoun
        + " is left out or refused; state " + words.pronoun + " with --set " + words.settings + ".";
}

std::string_view positionalName(Positional positional)
{
    switch (positional) {
    case Positional::Learned: return "learned";
    case Positional::Rotary: return "rotary";
    case Positional::Alibi: return "alibi";
    case Positional::Relative: return "relative";
    case Positional::None: return "none";
    case Positional::Other: return "other";
    }
    return "other";
}

std::string_view normalizationName(const ModelConfig& config)
{
    switch (config.norm) {
    case NormKind::None: return "none";
    case NormKind::LayerNorm: return config.normHasParameters ? "LN" : "LNPre";
    case NormKind::Rms: return config.normHasParameters ? "RMS" : "RMSPre";
    }
    return "none";
}

namespace {

std::string layersText(const std::vector<int>& layers)
{
    std::string text = layers.size() == 1 ? "layer " : "layers ";
    for (std::size_t i = 0; i < layers.size(); ++i)
        text += (i == 0 ? "" : ", ") + std::to_string(layers[i]);
    return text;
}

void addPositionNotes(const ModelConfig& config, std::vector<std::string>& notes)
{
    std::vector<int> unrotated;
    for (int layer = 0; layer < static_cast<int>(config.layerRotary.size()); ++layer)
        if (config.rotaryOf(layer).dim == 0)
            unrotated.push_back(layer);
    if (config.positional == Positional::Rotary)
        notes.emplace_back(
            "Queries and keys are rotated by their positions. A QK circuit is shown at offset 0; other offsets have a rotation between W_Q and W_K.");
    if (config.positional == Positional::Rotary && config.rotary.dim < config.dHead)
        notes.push_back(
            "Only " + std::to_string(config.rotary.dim) + " of a head's " + std::to_string(config.dHead)
            + " components rotate; the contribution of the others does not depend on the offset.");
    if (!unrotated.empty())
        notes.push_back("There are no positions in " + layersText(unrotated)
                        + ": a QK circuit there is the same for every offset.");
    else if (!config.layerRotary.empty())
        notes.emplace_back("Rotary frequencies differ between layers.");
    if (config.positional == Positional::Alibi)
        notes.emplace_back(
            "ALiBi subtracts a multiple of the key's distance from every score; QK circuits leave it out.");
    if (config.positional == Positional::Relative)
        notes.emplace_back("Scores have a learned bias by distance, which QK circuits leave out.");
    if (config.positionsInQueriesAndKeys)
        notes.emplace_back(
            "Positions are added to the query and key inputs, not to the residual stream, so no OV circuit moves them.");
    if (!config.windows.empty())
        notes.emplace_back("Some layers attend only within a window; QK circuits do not show that limit.");
    if (config.bidirectional)
        notes.emplace_back("There is no causal mask: every token also attends to later tokens.");
}

} // namespace

std::string whyNoForward(const ModelConfig& config)
{
    return config.needsEncoder ? "It needs a forward pass, and every layer of this " + config.architecture
            + " decoder reads an encoder's output too, so there is none of this stack alone."
                               : "";
}

std::string whyNoVocabulary(const ModelConfig& config)
{
    return config.readsImages ? "It needs a vocabulary, and this " + config.architecture
            + " model reads image patches: its only stored token is the class token."
                              : "";
}

std::vector<std::string> circuitNotes(const ModelConfig& config)
{
    std::vector<std::string> notes;
    addPositionNotes(config, notes);
    if (config.readsImages)
        notes.emplace_back(
            "Image patches are the tokens. A full circuit has the class token as its only input.");
    if (config.crossAttention)
        notes.emplace_back(
            "Keys and values read the encoder's last residual stream: rows of a QK circuit and outputs of an OV circuit are the decoder's, columns and inputs the encoder's.");
    else if (config.needsEncoder)
        notes.emplace_back(
            "Each layer reads the encoder between its attention and its MLP, which no circuit here shows.");
    if (config.skipless)
        notes.emplace_back(
            "There are no skip connections, so a head's output reaches the unembedding only through later blocks.");
    if (config.merged)
        notes.emplace_back(
            "A pair of attention matrices is merged into their neighbours; the identity replaces them.");
    if (config.qkNorm != NormKind::None)
        notes.emplace_back(
            "Queries and keys are normalised before their product, so a QK circuit gives the direction of the scores, not their size.");
    if (config.latentAttention)
        notes.push_back(
            std::string(
                config.latents.queries > 0
                    ? "Queries come from a latent, and keys and values from another. The norm of each latent divides by a number of each token, which circuits take as 1"
                    : "Keys and values come from a latent, whose norm divides them by a number of each token, which circuits take as 1")
            + ". So OV circuits give the direction of a token's output, not its size, and QK circuits give the rotated components of keys too large or too small beside the others.");
    if (config.qkvLimit > 0)
        notes.emplace_back("Queries, keys and values are clipped at a limit, which circuits leave out.");
    if (config.attentionSoftCap > 0)
        notes.emplace_back(
            "Scores go through a soft cap, so they grow with a QK circuit's values but not in proportion.");
    if (config.attentionSinks)
        notes.emplace_back(
            "Each head has a sink, a logit beside its scores that takes a part of the attention and writes nothing: rows of attention sum to less than 1, and so a value bias adds less than b_V W_O.");
    if (config.outputSoftCap > 0)
        notes.emplace_back("Logits go through a soft cap, so a full OV circuit gives the values before it.");
    if (config.hasSumNorms)
        notes.emplace_back(
            "The residual stream is normalised after each addition. Circuits hold up to the factors of those norms; paths over several layers hold only roughly.");
    if (config.residualFromNorm)
        notes.emplace_back(
            "The residual stream continues from the normalised values, so paths over several layers hold only up to the norms' factors.");
    if (config.hasPostNorms)
        notes.emplace_back(
            "Attention and MLP outputs are normalised before they are added, so an OV circuit gives their direction up to the norm's factors.");
    if (config.nExperts > 0)
        notes.push_back("Each token's MLP is made of " + std::to_string(config.expertsPerToken) + " of "
                        + std::to_string(config.nExperts)
                        + " experts, chosen per token; results on attention alone are exact.");
    if (config.hasHeadTransform)
        notes.emplace_back(
            "A matrix, an activation and a norm stand between the residual stream and the unembedding, which a full OV circuit leaves out.");
    return notes;
}

} // namespace headwise
