#include "core/model/families.h"
#include "core/model/hf_config.h"
#include "core/model/llama_names.h"

#include <nlohmann/json.hpp>

namespace headwise {
namespace {

using nlohmann::json;

/// `no_rope_layers` [n_layers]: 1 (or true) where a layer rotates, 0 where it has no positions: the other way round than
/// its name. \returns [n_layers] true where the layer rotates
std::vector<bool> readRotatedLayers(const ModelConfig& c, const json& config, ConfigReader& reader)
{
    const int interval = reader.size({"no_rope_layer_interval"}, 4);
    static constexpr std::string_view names[] = {"no_rope_layers"};
    reader.ignore(names);
    std::vector<bool> rotates;
    if (reader.isGiven("no_rope_layers") && config["no_rope_layers"].is_array()) {
        for (const json& entry : config["no_rope_layers"])
            rotates.push_back(entry == 1 || entry == true);
        if (static_cast<int>(rotates.size()) != c.nLayers)
            reader.contradiction("'no_rope_layers' speaks of " + std::to_string(rotates.size())
                                 + " layers, and there are " + std::to_string(c.nLayers));
        rotates.resize(believedLayers(c));
        return rotates;
    }
    for (std::size_t layer = 0; layer < believedLayers(c); ++layer)
        rotates.push_back((layer + 1) % static_cast<std::size_t>(interval) != 0);
    return rotates;
}

Result<ModelDescription> readConfig(const json& config, std::string_view file)
{
    ConfigReader reader(config, file);
    ModelConfig c = readLlamaNames(config, reader,
                                   {.architecture = "smollm3",
                                    .nLayers = 36,
                                    .nHeads = 16,
                                    .nKvHeads = 4,
                                    .dModel = 2048,
                                    .dVocab = 128256,
                                    .nCtx = 32768,
                                    .rotaryBase = 2e6,
                                    .tied = true});
    for (const bool rotates : readRotatedLayers(c, config, reader))
        c.layerRotary.push_back(rotates ? c.rotary : Rotary{});
    const int window = reader.optionalSize({"sliding_window"}).value_or(0);
    const std::vector<bool> slides = readSlidingLayers(c, config, reader);
    if (reader.flag({"use_sliding_window"}, false))
        c.windows = windowsOf(slides, window);
    c.attentionBiases = reader.flag({"attention_bias"}, false);
    c.mlpBiases = reader.flag({"mlp_bias"}, false);
    static constexpr std::string_view harmless[] = {"max_window_layers"};
    reader.ignore(harmless);
    const BiasPresence biases{.attention = *c.attentionBiases, .mlp = *c.mlpBiases};
    return describe(std::move(c), reader, biases);
}

Result<ModelWeights> load(const ModelConfig& config, std::shared_ptr<const WeightMap> file)
{
    const StoredBias attention = storedBias(config.attentionBiases);
    return loadLlamaNames(config, std::move(file),
                          {.qkv = attention, .output = attention, .mlp = storedBias(config.mlpBiases)});
}

} // namespace

const Architecture& smollm3()
{
    static constexpr Architecture row{"smollm3", nullptr, readConfig, load};
    return row;
}

} // namespace headwise
