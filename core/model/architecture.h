#pragma once

#include "core/base/task.h"
#include "core/model/weights.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headwise {

/// The vectors that a family's models have, for the count of parameters where the weights are not at hand.
struct BiasPresence {
    bool attention = false; ///< b_Q, b_K, b_V and, unless told otherwise, b_O
    bool mlp = false;
    bool unembed = false;
    std::optional<bool> attentionOutput = {}; ///< b_O where it differs from the others.
    bool oneNorm = false;                     ///< ln1 serves attention and MLP.
    bool gate = true;                         ///< A gated MLP has b_gate and b_up; else b_in alone.
    std::uint8_t wideVectors = 0;             ///< Further vectors [d]: a token type, a norm before the head.
    bool norm = true;                         ///< The bias of a LayerNorm.
    std::int64_t further = 0; ///< Numbers beyond those that the sizes imply; negative where there are fewer.
};

/// A config file as it was understood.
struct ModelDescription {
    ModelConfig config;
    std::vector<std::string> warnings; ///< Unknown keys, in one sentence.
    BiasPresence biases;
    std::vector<AssumedKey> assumed = {}; ///< Keys that no file gives, with the values taken for them.
    StoredForms forms = {};
};

/// Where a model is and what the user said about it.
struct ModelSource {
    std::filesystem::path path; ///< A folder or one weights file, or an adapter's folder.
    std::optional<std::filesystem::path> configFile; ///< --config
    std::map<std::string, std::string> overrides;    ///< --set key=value, in the config file's own keys
    std::vector<std::string> ignored = {};           ///< --ignore: names or patterns of tensors to leave out.
    std::optional<std::filesystem::path> namesFile = {}; ///< --names: a map of the names of its tensors.
    /// --base: the model that an adapter in `path` changes; empty: as the adapter's config says. All else is said of the base.
    std::filesystem::path base = {};
    double adapterStrength = 1; ///< --adapter-scale: 0 is the base, 1 the adapted model.
};

/// Returns the stored tensors that belong to no part of the model, if it would open without them; else nothing. Reads headers
/// only.
std::vector<std::string> unknownTensors(const ModelSource& source);

/// The config alone: enough for `info` on a folder without weights.
Result<ModelDescription> readModelConfig(const ModelSource& source);

/// Maps the files, finds the family, checks every tensor; reads headers only.
/// Errors: NotFound, Corrupt, Unsupported, Io, each a sentence that says what to do.
Result<std::shared_ptr<const ModelWeights>> loadModel(const ModelSource& source, const Task& task);

} // namespace headwise
