#pragma once

#include "core/base/result.h"

#include <nlohmann/json.hpp>

#include <string>

namespace headwise {

struct ModelSource;

/// The config as it stands after the user's overrides, and where it came from.
struct ConfigText {
    nlohmann::json values;
    std::string file;
    bool isInferred = false;     ///< The tensors tell it, and no file.
    std::string recognised = {}; ///< Names of the tensors, if they do not tell enough for a config.
};

/// Finds the config of a model: the file that the source names, the one beside its weights, or as the weights imply it.
/// Errors: NotFound, Corrupt, Unsupported, Io.
Result<ConfigText> readConfigText(const ModelSource& source);

} // namespace headwise
