#include "core/model/families/families.h"
#include "core/model/families/llama_names.h"
#include "core/model/hf_config.h"

#include <nlohmann/json.hpp>

namespace headwise {
namespace {

using nlohmann::json;

Result<ModelDescription> readLlamaConfig(const json& config, std::string_view file)
{
    ConfigReader reader(config, file);
    ModelConfig c = readLlamaNames(config, reader, {.architecture = "llama"});
    c.attentionBiases = reader.optionalFlag("attention_bias");
    c.mlpBiases = reader.optionalFlag("mlp_bias");
    const BiasPresence biases{c.attentionBiases.value_or(false), c.mlpBiases.value_or(false), false};
    reader.onlySupports("sliding_window", {});
    reader.onlySupports("use_sliding_window", {"false"});
    return describe(std::move(c), reader, biases);
}

/// A bias is there if the config says so, and if it says nothing, if the file has it: some configs have no key for it.
Result<ModelWeights> loadLlama(const ModelConfig& config, std::shared_ptr<const WeightMap> file)
{
    const StoredBias attention = storedBias(config.attentionBiases);
    return loadLlamaNames(config, std::move(file),
                          {.qkv = attention, .output = attention, .mlp = storedBias(config.mlpBiases)});
}

} // namespace

const Architecture& llama()
{
    static constexpr Architecture row{"llama", nullptr, readLlamaConfig, loadLlama};
    return row;
}

} // namespace headwise
