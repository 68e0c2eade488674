#pragma once

#include "core/checkpoint/weight_map.h"

#include <string>
#include <vector>

namespace headwise {

/// What the names and shapes of a state dict say of a model that brings no config.
struct InferredConfig {
    std::string text; ///< As of a config.json; empty if the names are of no kind that is known.
    std::vector<std::string> unknown; ///< Keys that change the function and that no tensor tells.
};

/// Knows nanoGPT, the first minGPT, TransformerLens, and the names of Hugging Face's GPT-2 and Llama, of which the latter
/// are those of several families.
InferredConfig inferConfig(const WeightMap& file);

} // namespace headwise
