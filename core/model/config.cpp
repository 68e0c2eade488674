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

std::vector<std::string> circuitNotes(const ModelConfig& config)
{
    std::vector<std::string> notes;
    if (config.qkNorm != NormKind::None)
        notes.emplace_back("Queries and keys are normalised before their product, so a QK circuit gives the "
                           "direction of the scores, not their size.");
    if (config.attentionSoftCap > 0)
        notes.emplace_back(
            "Scores go through a soft cap, so they grow with a QK circuit's values but not in proportion.");
    if (config.hasPostNorms)
        notes.emplace_back("What attention and MLP write is normalised before it is added, so an OV circuit "
                           "gives its direction up to the factors of that norm.");
    if (config.positional == Positional::Alibi)
        notes.emplace_back(
            "Every score loses a multiple of the distance to its key (ALiBi), which no QK circuit shows.");
    return notes;
}

} // namespace headwise
