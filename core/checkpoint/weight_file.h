#pragma once

#include "core/checkpoint/safetensors.h"
#include "core/files/mapped_file.h"

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace headwise {

/// Description that one file of weights gives of itself, in any format.
struct WeightFile {
    std::vector<StoredTensor> tensors =
        {};                              ///< Each inside the file: no number is read from outside its bytes.
    std::span<const std::byte> identity; ///< Input of the checkpoint's digest: a header, or the first MiB.
    std::string config = {}; ///< The text of a config.json, where the file brings its own (GGUF, llama2.c).
    std::vector<std::string> warnings = {};
    std::vector<std::byte> unpacked =
        {}; ///< Where it is not empty, the tensors' places are in it and not in the file.
};

/// Reads the directory of a file, whose format its first bytes decide and not its name; touches no weight.
///
/// Errors: Corrupt; Unsupported with what to do (a format we do not read, quantised weights, an adapter).
Result<WeightFile> readWeightFile(const MappedFile& file);

/// The config that the weights at a path bring with them, and the file it stands in; empty if they bring none.
struct OwnConfig {
    std::string text, file;
};

/// Errors: those of readWeightFile for a file that has a config of its own; any other trouble is left to WeightMap::open.
Result<OwnConfig> ownConfig(const std::filesystem::path& path);

} // namespace headwise
