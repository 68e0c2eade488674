#include "core/model/families/families.h"
#include "core/model/families/llama_names.h"
#include "core/model/hf_config.h"

#include <nlohmann/json.hpp>

namespace headwise {
namespace {

using nlohmann::json;

Result<ModelDescription> readMistralConfig(const json& config, std::string_view file)
{
    ConfigReader reader(config, file);
    ModelConfig c = readLlamaNames(
        config, reader, {.architecture = "mistral", .nKvHeads = 8, .dMlp = 14336, .nCtx = 4096 * 32});
    // null means no window (v0.2 and later); the class's own is for files that do not speak of it.
    const int standard = reader.isAbsent("sliding_window") ? 4096 : 0;
    const int window = reader.optionalSize({"sliding_window"}).value_or(standard);
    std::vector<bool> slides = readSlidingLayers(c, config, reader);
    if (slides.empty())
        slides.assign(believedLayers(c), true);
    c.windows = windowsOf(slides, window);
    return describe(std::move(c), reader, {});
}

Result<ModelWeights> loadMistral(const ModelConfig& config, std::shared_ptr<const WeightMap> file)
{
    return loadLlamaNames(config, std::move(file), {});
}

} // namespace

const Architecture& mistral()
{
    static constexpr Architecture row{"mistral", nullptr, readMistralConfig, loadMistral};
    return row;
}

} // namespace headwise
