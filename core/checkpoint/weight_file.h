#pragma once

#include "core/checkpoint/safetensors.h"
#include "core/files/mapped_file.h"

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace headwise {

/// A file of weights, of any format, as its header describes it.
struct WeightFile {
    std::vector<StoredTensor> tensors =
        /// Each lies inside the file: no number is read from outside its bytes.
        {};
    std::span<const std::byte> identity; ///< Bytes for the checkpoint's digest: a header, or the first MiB.
    std::string config = {}; ///< The text of a config.json, if the file contains a config (GGUF, llama2.c).
    std::vector<std::string> warnings = {};
    std::vector<std::byte> unpacked =
        {}; ///< If it is not empty, the tensors' offsets refer to it and not to the file.
};

/// Files of which no model can be opened: adapters, some quantised weights, other architectures of GGUF.
enum class ForeignFiles {
    Refused,
    Shown, ///< Their tensors are listed as they are stored.
};

/// Maps a file of weights. Under a limit on the address space, a large safetensors file of plain numbers is not mapped whole.
/// Errors: those of MappedFile::open.
Result<MappedFile> openWeightFile(const std::filesystem::path& path);

/// Reads the headers of a checkpoint's files, without touching any weight. The first bytes decide the format, not the names.
/// The parts of a split GGUF model are read as one model; its config and warnings are those of the first file.
///
/// \returns one entry per file, in order
/// Errors: Corrupt; Unsupported with what to do (a format we do not read).
Result<std::vector<WeightFile>> readWeightFiles(std::span<const MappedFile> files,
                                                ForeignFiles foreign = ForeignFiles::Refused);

/// The config inside a file of weights, and that file; empty if there is none.
struct OwnConfig {
    std::string text, file;
};

/// Errors: those of readWeightFiles for files with a config of their own, missing parts of a split GGUF model; WeightMap::open
/// reports any other.
Result<OwnConfig> ownConfig(const std::filesystem::path& path);

} // namespace headwise
