#include "core/model/model_card.h"

#include "core/model/weights.h"

#include <filesystem>
#include <system_error>

namespace headwise {

ModelCard modelCard(const ModelWeights& weights)
{
    const ModelConfig& config = weights.config();
    ModelCard card;
    card.name = config.name;
    card.architecture = config.architecture;
    card.nLayers = config.nLayers;
    card.nHeads = config.nHeads;
    card.nKvHeads = config.nKvHeads;
    card.dModel = config.dModel;
    card.dHead = config.dHead;
    card.dMlp = config.dMlp;
    card.dVocab = config.dVocab;
    card.nCtx = config.isKnown(ConfigField::Context) ? config.nCtx : 0;
    card.positional =
        positionalName(config.isKnown(ConfigField::Positions) ? config.positional : Positional::Other);
    card.normalization = normalizationName(config);
    std::error_code code;
    const std::filesystem::path path = std::filesystem::absolute(weights.file().path(), code);
    card.source = (code ? weights.file().path() : path).lexically_normal().string();
    card.sha256 = weights.file().sha256();
    return card;
}

} // namespace headwise
