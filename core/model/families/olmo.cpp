#include "core/model/families/families.h"
#include "core/model/families/llama_names.h"
#include "core/model/hf_config.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace headwise {
namespace {

using nlohmann::json;

Result<ModelDescription> readOlmo(const json& config, std::string_view file)
{
    ConfigReader reader(config, file);
    ModelConfig c = readLlamaNames(config, reader,
                                   {.architecture = "olmo", .dVocab = 50304, .norm = NormKind::LayerNorm});
    c.normHasParameters = false; // w = 1 and b = 0, but the mean is subtracted
    c.normEps = 1e-5;            // no key changes it
    c.qkvLimit = std::max(0.0, reader.number({"clip_qkv"}, 0));
    c.attentionBiases = reader.flag({"attention_bias"}, false);
    const BiasPresence biases{.attention = c.attentionBiases.value_or(false)};
    return describe(std::move(c), reader, biases);
}

/// What OLMo 2 and 3 share: norms behind the blocks alone, and queries and keys normalised over all heads together.
ModelConfig readOlmoCommon(const json& config, ConfigReader& reader, const LlamaDefaults& defaults)
{
    ModelConfig c = readLlamaNames(config, reader, defaults);
    c.hasPreNorms = false;
    c.hasPostNorms = true;
    c.qkNorm = NormKind::Rms;
    c.qkNormOverAllHeads = true;
    c.attentionBiases = reader.flag({"attention_bias"}, false);
    return c;
}

Result<ModelDescription> readOlmo2(const json& config, std::string_view file)
{
    ConfigReader reader(config, file);
    ModelConfig c =
        readOlmoCommon(config, reader, {.architecture = "olmo2", .dVocab = 50304, .normEps = 1e-5});
    const BiasPresence biases{.attention = c.attentionBiases.value_or(false)};
    return describe(std::move(c), reader, biases);
}

/// Three of four layers slide, and their rotary frequencies are not scaled.
Result<ModelDescription> readOlmo3(const json& file, std::string_view name)
{
    const json config = withFullRope(file);
    ConfigReader reader(config, name);
    ModelConfig c =
        readOlmoCommon(config, reader, {.architecture = "olmo3", .dVocab = 50304, .normEps = 1e-5});
    const int window = reader.optionalSize({"sliding_window"}).value_or(4096);
    std::vector<bool> slides = readSlidingLayers(c, config, reader);
    if (slides.empty())
        for (std::size_t layer = 0; layer < believedLayers(c); ++layer)
            slides.push_back((layer + 1) % 4 != 0);
    c.windows = windowsOf(slides, window);
    rotateSlidingLayers(c, slides, readSlidingRotary(c, file, reader, c.rotary.base));
    const BiasPresence biases{.attention = c.attentionBiases.value_or(false)};
    return describe(std::move(c), reader, biases);
}

Result<ModelWeights> loadOlmo(const ModelConfig& config, std::shared_ptr<const WeightMap> file)
{
    const StoredBias attention = storedBias(config.attentionBiases);
    return loadLlamaNames(config, std::move(file),
                          {.qkv = attention, .output = attention, .mlp = StoredBias::Absent});
}

} // namespace

const Architecture& olmo()
{
    static constexpr Architecture row{"olmo", nullptr, readOlmo, loadOlmo};
    return row;
}

const Architecture& olmo2()
{
    static constexpr Architecture row{"olmo2", nullptr, readOlmo2, loadOlmo};
    return row;
}

const Architecture& olmo3()
{
    static constexpr Architecture row{"olmo3", nullptr, readOlmo3, loadOlmo};
    return row;
}

} // namespace headwise
