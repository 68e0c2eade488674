#include "core/model/families/families.h"
#include "core/model/families/llama_names.h"
#include "core/model/hf_config.h"

#include <nlohmann/json.hpp>

namespace headwise {
namespace {

using nlohmann::json;

/// Layers from max_window_layers on slide, all of them where it is 0, but only where use_sliding_window is set. A window
/// that is written as null is none; only an absent key means the family's own.
void readQwen2Windows(ModelConfig& c, const json& config, ConfigReader& reader)
{
    const int absent = reader.isAbsent("sliding_window") ? 4096 : 0;
    const int window = reader.optionalSize({"sliding_window"}).value_or(absent);
    const int first = reader.count("max_window_layers", 28);
    std::vector<bool> slides = readSlidingLayers(c, config, reader);
    if (!reader.flag({"use_sliding_window"}, false))
        return;
    if (slides.empty())
        for (std::size_t layer = 0; layer < believedLayers(c); ++layer)
            slides.push_back(static_cast<int>(layer) >= first);
    c.windows = windowsOf(slides, window);
}

Result<ModelDescription> readQwen2(const json& config, std::string_view file)
{
    ConfigReader reader(config, file);
    ModelConfig c = readLlamaNames(config, reader,
                                   {.architecture = "qwen2", .dMlp = 22016, .dVocab = 151936, .nCtx = 32768});
    readQwen2Windows(c, config, reader);
    return describe(std::move(c), reader, {.attention = true, .attentionOutput = false});
}

Result<ModelDescription> readQwen3(const json& config, std::string_view file)
{
    ConfigReader reader(config, file);
    ModelConfig c = readLlamaNames(
        config, reader,
        {.architecture = "qwen3", .dMlp = 22016, .dHead = 128, .dVocab = 151936, .nCtx = 32768});
    c.qkNorm = NormKind::Rms;
    c.attentionBiases = reader.flag({"attention_bias"}, false);
    readQwen2Windows(c, config, reader);
    const BiasPresence biases{.attention = *c.attentionBiases};
    return describe(std::move(c), reader, biases);
}

/// The biases of q, k and v belong to the architecture: no key speaks of them.
Result<ModelWeights> loadQwen2(const ModelConfig& config, std::shared_ptr<const WeightMap> file)
{
    return loadLlamaNames(
        config, std::move(file),
        {.qkv = StoredBias::Present, .output = StoredBias::Absent, .mlp = StoredBias::Absent});
}

Result<ModelWeights> loadQwen3(const ModelConfig& config, std::shared_ptr<const WeightMap> file)
{
    const StoredBias attention = storedBias(config.attentionBiases);
    return loadLlamaNames(config, std::move(file),
                          {.qkv = attention, .output = attention, .mlp = StoredBias::Absent});
}

} // namespace

const Architecture& qwen2()
{
    static constexpr Architecture row{"qwen2", nullptr, readQwen2, loadQwen2};
    return row;
}

const Architecture& qwen3()
{
    static constexpr Architecture row{"qwen3", nullptr, readQwen3, loadQwen3};
    return row;
}

} // namespace headwise
