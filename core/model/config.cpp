#include "core/model/config.h"

namespace headwise {

std::string_view positionalName(Positional positional)
{
    switch (positional) {
    case Positional::Learned: return "learned";
    case Positional::Rotary: return "rotary";
    case Positional::Alibi: return "alibi";
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
    if (config.positionsInQueriesAndKeys)
        notes.emplace_back(
            "Positions are added to the query and key inputs, not to the residual stream, so no OV circuit moves them.");
    if (!config.windows.empty())
        notes.emplace_back("Some layers attend only within a window; QK circuits do not show that limit.");
    if (config.bidirectional)
        notes.emplace_back("There is no causal mask: every token also attends to later tokens.");
}

} // namespace

std::vector<std::string> circuitNotes(const ModelConfig& config)
{
    std::vector<std::string> notes;
    addPositionNotes(config, notes);
    if (config.skipless)
        notes.emplace_back(
            "There are no skip connections, so a head's output reaches the unembedding only through later blocks.");
    if (config.merged)
        notes.emplace_back(
            "A pair of attention matrices is merged into their neighbours; the identity replaces them.");
    if (config.qkNorm != NormKind::None)
        notes.emplace_back(
            "Queries and keys are normalised before their product, so a QK circuit gives the direction of the scores, not their size.");
    if (config.qkvLimit > 0)
        notes.emplace_back("Queries, keys and values are clipped at a limit, which circuits leave out.");
    if (config.attentionSoftCap > 0)
        notes.emplace_back(
            "Scores go through a soft cap, so they grow with a QK circuit's values but not in proportion.");
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
