#pragma once

#include "core/base/task.h"
#include "core/model/weights.h"

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headwise {

/// Which biases a family's models have, for the count of parameters where the weights are not at hand.
struct BiasPresence {
    bool attention = false; ///< b_Q, b_K, b_V and, unless told otherwise, b_O
    bool mlp = false;
    bool unembed = false;
    std::optional<bool> attentionOutput = {}; ///< b_O where it differs from the others.
    bool oneNorm = false;                     ///< ln1 serves attention and MLP.
};

/// What a config file says.
struct ModelDescription {
    ModelConfig config;
    std::vector<std::string> warnings; ///< Keys that nobody knows, in one sentence.
    BiasPresence biases;
};

/// One family's translation into canonical weights: a row of a table, not a class.
struct Architecture {
    std::string_view name; ///< "gpt2", the model_type of Hugging Face's config
    /// null: the model_type is the name.
    bool (*matches)(const nlohmann::json& config);
    /// Every key and its default. A key whose value changes the function and is not supported is refused, named with its value.
    /// \param file named in the sentences
    /// Errors: Corrupt (a required key is missing or of the wrong kind), Unsupported.
    Result<ModelDescription> (*readConfig)(const nlohmann::json& config, std::string_view file);
    /// A recipe for every canonical tensor, each shape checked against the config; reads no numbers.
    /// Errors: NotFound (missing tensors), Corrupt (misshapen ones), Unsupported (unexpected ones), all of a kind in one sentence.
    Result<ModelWeights> (*load)(const ModelConfig& config, std::shared_ptr<const WeightMap> file);
};

/// All families, in the order they are tried.
std::span<const Architecture> architectures();

/// Where a model is and what the user said about it.
struct ModelSource {
    std::filesystem::path path;                      ///< A folder or one weights file.
    std::optional<std::filesystem::path> configFile; ///< --config
    std::map<std::string, std::string> overrides;    ///< --set key=value, in the config file's own keys
};

/// What the files of a model leave to its user to say.
struct MissingConfig {
    bool isMissing = false; ///< There are weights, and no config in any file.
    std::vector<std::string>
        keys; ///< Config keys that no tensor tells; empty if nothing is known of the model.
};

/// Reads headers only.
MissingConfig missingConfig(const ModelSource& source);

/// The config alone: enough for `info` on a folder without weights.
Result<ModelDescription> readModelConfig(const ModelSource& source);

/// Maps the files, finds the family, checks every tensor; reads headers only.
/// Errors: NotFound, Corrupt, Unsupported, Io, each a sentence that says what to do.
Result<std::shared_ptr<const ModelWeights>> loadModel(const ModelSource& source, const Task& task);

} // namespace headwise
