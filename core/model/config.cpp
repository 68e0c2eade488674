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

} // namespace headwise
