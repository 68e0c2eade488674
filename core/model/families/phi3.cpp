#include "core/model/families/families.h"
#include "core/model/families/llama_names.h"
#include "core/model/hf_config.h"

#include <nlohmann/json.hpp>

namespace headwise {
namespace {

using nlohmann::json;

/// Phi-3, 3.5 and 4.
Result<ModelDescription> readPhi3Config(const json& file, std::string_view name)
{
    json config = file;
    if (!config.contains("original_max_position_embeddings"))
        config["original_max_position_embeddings"] = 4096; // the class's own, which longrope needs
    ConfigReader reader(config, name);
    ModelConfig c = readLlamaNames(config, reader,
                                   {.architecture = "phi3",
                                    .dModel = 3072,
                                    .dMlp = 8192,
                                    .dVocab = 32064,
                                    .nCtx = 4096,
                                    .normEps = 1e-5});
    const int window = reader.optionalSize({"sliding_window"}).value_or(0);
    c.windows = windowsOf(std::vector<bool>(believedLayers(c), true), window);
    for (const std::string_view off : {"attention_bias", "mlp_bias", "lm_head_bias"})
        reader.onlySupports(off, {"false"});
    static constexpr std::string_view harmless[] = {"full_attn_mod", "interpolate_factor", "use_mup"};
    reader.ignore(harmless);
    return describe(std::move(c), reader, {});
}

Result<ModelWeights> loadPhi3(const ModelConfig& config, std::shared_ptr<const WeightMap> file)
{
    return loadLlamaNames(
        config, std::move(file),
        {.qkv = StoredBias::Absent, .output = StoredBias::Absent, .mlp = StoredBias::Absent, .fused = true});
}

} // namespace

const Architecture& phi3()
{
    static constexpr Architecture row{"phi3", nullptr, readPhi3Config, loadPhi3};
    return row;
}

} // namespace headwise
