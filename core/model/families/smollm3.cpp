#include "core/model/families/families.h"
#include "core/model/families/llama_names.h"
#include "core/model/hf_config.h"

#include <nlohmann/json.hpp>

#include <algorithm>

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
    if (reader.isGiven("no_rope_layers")) {
        const json& layers = config["no_rope_layers"];
        const auto isFlag = [](const json& entry) {
            return entry.is_boolean() || (entry.is_number_integer() && (entry == 0 || entry == 1));
        };
        if (!layers.is_array() || !std::all_of(layers.begin(), layers.end(), isFlag)) {
            reader.refuse("no_rope_layers", "expected a list of 0 and 1");
            return std::vector<bool>(believedLayers(c));
        }
        for (const json& entry : layers)
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

Result<ModelDescription> readSmollm3Config(const json& config, std::string_view file)
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
    const std::vector<bool> rotated = readRotatedLayers(c, config, reader);
    for (const bool rotates : rotated)
        c.layerRotary.push_back(rotates ? c.rotary : Rotary{});
    const int window = reader.optionalSize({"sliding_window"}).value_or(0);
    std::vector<bool> slides = readSlidingLayers(c, config, reader);
    if (slides.empty()) { // Then the layers without positions are those that slide.
        slides = rotated;
        slides.flip();
    }
    if (reader.flag({"use_sliding_window"}, false))
        c.windows = windowsOf(slides, window);
    c.attentionBiases = reader.flag({"attention_bias"}, false);
    c.mlpBiases = reader.flag({"mlp_bias"}, false);
    static constexpr std::string_view harmless[] = {"max_window_layers"};
    reader.ignore(harmless);
    const BiasPresence biases{.attention = *c.attentionBiases, .mlp = *c.mlpBiases};
    return describe(std::move(c), reader, biases);
}

Result<ModelWeights> loadSmollm3(const ModelConfig& config, std::shared_ptr<const WeightMap> file)
{
    const StoredBias attention = storedBias(config.attentionBiases);
    return loadLlamaNames(config, std::move(file),
                          {.qkv = attention, .output = attention, .mlp = storedBias(config.mlpBiases)});
}

} // namespace

const Architecture& smollm3()
{
    static constexpr Architecture row{"smollm3", nullptr, readSmollm3Config, loadSmollm3};
    return row;
}

} // namespace headwise
