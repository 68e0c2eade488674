#pragma once

#include "core/base/result.h"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace headwise {

/// The weight files of a folder.
struct WeightFiles {
    std::vector<std::filesystem::path> files;   ///< In file-name order.
    std::map<std::string, std::string> shardOf; ///< Tensor → file name, from the index; empty without one.
};

/// Chooses by the rules of WeightMap::open(). Opens nothing but the index.
Result<WeightFiles> weightFilesIn(const std::filesystem::path& folder);

/// Returns the shards that a model.safetensors.index.json lists. All must exist.
Result<WeightFiles> weightFilesOfIndex(const std::filesystem::path& index);

} // namespace headwise
