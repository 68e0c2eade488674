#pragma once

#include "core/checkpoint/weight_map.h"
#include "core/model/config.h"

#include <string>
#include <vector>

namespace headwise {

struct ModelSource;

/// The config of a model that brings none, as far as the names and shapes of its state dict tell it.
struct InferredConfig {
    std::string text;                 ///< A config.json; empty if the names are of no known kind.
    std::vector<std::string> unknown; ///< Keys that the weights' own analyses need and that no tensor tells.
    std::vector<UnknownField> open = {}; ///< Fields without which the model opens; its text lists them too.
};

/// Knows nanoGPT, the first minGPT, TransformerLens, and the names of Hugging Face's GPT-2 and Llama, of which the latter
/// are those of several families.
InferredConfig inferConfig(const WeightMap& file);

/// Refuses the state dict of a TransformerLens HookedEncoder (BERT), with or without a config: versions disagree on whether its square
/// mlm_head.W is stored transposed, and neither names nor shapes tell.
/// Errors: Unsupported.
Result<Done> checkNames(const WeightMap& file, const std::string& path);

/// Says in half a sentence which names a file's tensors have, and which tensors of their kind are missing.
std::string recognisedNames(const WeightMap& file);

/// The keys that a model's files leave to its user to say.
struct MissingConfig {
    bool isMissing = false;        ///< There are weights, and no config in any file.
    std::vector<std::string> keys; ///< Config keys that no tensor implies; empty if the model is unknown.
    std::vector<std::string> optional = {}; ///< Keys without which it opens, but not everything can be asked.
};

/// Reads headers only.
MissingConfig missingConfig(const ModelSource& source);

} // namespace headwise
