#include "core/model/circuit_badges.h"

#include <cmath>

namespace headwise {
namespace {

/// "50", "0.5": a number of the config as it is written there.
std::string plain(double value)
{
    if (value == std::floor(value) && std::abs(value) < 1e9)
        return std::to_string(static_cast<long long>(value));
    std::string text = std::to_string(value);
    text.erase(text.find_last_not_of('0') + 1);
    return text;
}

} // namespace

std::vector<std::string> circuitBadges(const ModelConfig& config, int layer)
{
    std::vector<std::string> badges;
    if (config.positional == Positional::Rotary) {
        const int dim = config.rotaryOf(layer).dim;
        if (dim == 0)
            badges.emplace_back("no positions in this layer");
        else if (dim < config.dHead)
            badges.push_back("rotary, " + std::to_string(dim) + " of " + std::to_string(config.dHead)
                             + ": QK at Δ = 0");
        else
            badges.emplace_back("rotary: QK at Δ = 0");
    }
    if (config.positional == Positional::Alibi)
        badges.emplace_back("ALiBi");
    if (const int window = config.windowOf(layer); window > 0)
        badges.push_back("window " + std::to_string(window));
    if (config.qkNorm != NormKind::None)
        badges.emplace_back("QK-norm");
    if (config.latentAttention)
        badges.emplace_back("norm of the latent");
    if (config.attentionSoftCap > 0)
        badges.push_back("soft cap " + plain(config.attentionSoftCap));
    if (config.attentionSinks)
        badges.emplace_back("sink beside the scores");
    if (config.scaleByInverseLayer && layer > 0)
        badges.push_back("scores / " + std::to_string(layer + 1));
    if (config.positional == Positional::Relative)
        badges.emplace_back("bias by distance");
    if (config.crossAttention)
        badges.emplace_back("keys in the encoder");
    else if (config.bidirectional)
        badges.emplace_back("no causal mask");
    if (config.skipless)
        badges.emplace_back("no skip connections");
    if (config.merged)
        badges.emplace_back("a merged pair");
    if (config.hasPostNorms)
        badges.emplace_back("norm after OV");
    return badges;
}

} // namespace headwise
