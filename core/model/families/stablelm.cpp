#include "core/model/families/families.h"
#include "core/model/families/llama_names.h"
#include "core/model/hf_config.h"

#include <nlohmann/json.hpp>

namespace headwise {
namespace {

using nlohmann::json;

/// StableLM 3B and 2; stablelm-base-alpha is a GPT-NeoX.
Result<ModelDescription> readStablelmConfig(const json& config, std::string_view file)
{
    ConfigReader reader(config, file);
    ModelConfig c = readLlamaNames(config, reader,
                                   {.architecture = "stablelm",
                                    .nKvHeads = 32,
                                    .dModel = 2560,
                                    .dMlp = 6912,
                                    .dVocab = 50304,
                                    .nCtx = 4096,
                                    .norm = NormKind::LayerNorm,
                                    .normEps = 1e-5,
                                    .rotaryPart = 0.25});
    c.attentionBiases = reader.flag({"use_qkv_bias"}, false);
    c.parallelBlocks = reader.flag({"use_parallel_residual"}, false);
    if (reader.flag({"qk_layernorm"}, false))
        c.qkNorm = NormKind::LayerNorm;
    const BiasPresence biases{
        .attention = *c.attentionBiases, .attentionOutput = false, .oneNorm = c.parallelBlocks};
    return describe(std::move(c), reader, biases);
}

/// A LayerNorm without bias for each head, each with its own tensor.
void addQkNorms(RecipeBook& book, const std::string& attention, int layer)
{
    const ModelConfig& c = book.config();
    const auto add = [&](const std::string& name, int heads, TensorKind kind) {
        for (int head = 0; head < heads; ++head) {
            const std::string tensor = attention + name + std::to_string(head) + ".weight";
            if (book.require(tensor, {c.dHead}))
                book.add(kind, layer, head, tensor, layout::part(0, c.dHead));
        }
    };
    add("q_layernorm.norms.", c.nHeads, TensorKind::q_norm_w);
    add("k_layernorm.norms.", c.nKvHeads, TensorKind::k_norm_w);
}

Result<ModelWeights> loadStablelm(const ModelConfig& config, std::shared_ptr<const WeightMap> file)
{
    return loadLlamaNames(config, std::move(file),
                          {.qkv = storedBias(config.attentionBiases),
                           .output = StoredBias::Absent,
                           .mlp = StoredBias::Absent,
                           .addQkNorms = addQkNorms});
}

} // namespace

const Architecture& stablelm()
{
    static constexpr Architecture row{"stablelm", nullptr, readStablelmConfig, loadStablelm};
    return row;
}

} // namespace headwise
