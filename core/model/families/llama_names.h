#pragma once

#include "core/model/families/linear_recipes.h"

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string_view>

namespace headwise {

class ConfigReader;

// Families that store their tensors under Llama's names: model.layers.N.self_attn.q_proj.weight and so on.

/// What a key means when it is absent or null, by the class of the family.
struct LlamaDefaults {
    std::string_view architecture;
    int nLayers = 32, nHeads = 32;
    std::optional<int> nKvHeads = {}; ///< nothing: as many as query heads
    int dModel = 4096, dMlp = 11008;
    std::optional<int> dHead = {}; ///< nothing: d_model / n_heads
    int dVocab = 32000, nCtx = 2048;
    NormKind norm = NormKind::Rms;
    double normEps = 1e-6, rotaryBase = 10000, rotaryPart = 1;
    std::string_view activation = "silu";
    bool tied = false;
};

/// Sizes, norms, rotary positions and the gated MLP; what else a family has its own file adds.
ModelConfig readLlamaNames(const nlohmann::json& config, ConfigReader& reader, const LlamaDefaults& defaults);

/// The differences between the families' files that their configs do not tell.
struct LlamaLayout {
    StoredBias qkv = StoredBias::AsStored;
    StoredBias output = StoredBias::AsStored;
    StoredBias mlp = StoredBias::AsStored;
    bool fused = false; ///< qkv_proj and gate_up_proj, their rows one after the other
    /// Where the family has other names than q_norm and k_norm, or another MLP. \param name "model.layers.3.self_attn."
    /// or, of the MLP, "model.layers.3."
    void (*addQkNorms)(RecipeBook& book, const std::string& name, int layer) = nullptr;
    void (*addMlp)(RecipeBook& book, const std::string& name, int layer) = nullptr;
};

/// Every tensor of such a model, pre-, post- and q/k norms as the config has them.
/// Errors: as Architecture::load.
Result<ModelWeights> loadLlamaNames(const ModelConfig& config, std::shared_ptr<const WeightMap> file,
                                    const LlamaLayout& layout);

} // namespace headwise
