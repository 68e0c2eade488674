#pragma once

#include "core/base/result.h"
#include "core/checkpoint/safetensors.h"

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace headwise {

/// The weight files of a folder.
struct WeightFiles {
    std::vector<std::filesystem::path> files;   ///< In file-name order.
    std::map<std::string, std::string> shardOf; ///< Tensor → file name, from the index; empty without one.
};

/// Chooses by the rules of WeightMap::open(). Opens nothing but the index.
Result<WeightFiles> weightFilesIn(const std::filesystem::path& folder);

/// The files of a folder, of an index, or of any part of a split GGUF model; any other file alone.
/// Errors: NotFound, naming missing shards and parts; Corrupt; Io.
Result<WeightFiles> weightFilesAt(const std::filesystem::path& path);

/// Returns the shards that a model.safetensors.index.json lists. All must exist.
Result<WeightFiles> weightFilesOfIndex(const std::filesystem::path& index);

/// Checks that shards and index agree. Returns the tensors of shards that the index does not list.
/// \param tensors sorted by name
/// Errors: Corrupt, naming a tensor that is in two files or not where the index says.
Result<std::vector<std::string>> unlisted(const std::vector<StoredTensor>& tensors, const WeightFiles& files,
                                          const std::filesystem::path& folder);

/// True for "NAME-00001-of-00003.gguf", as llama.cpp names the parts of a split model.
bool isNamedAsGgufPart(std::string_view fileName);

} // namespace headwise
