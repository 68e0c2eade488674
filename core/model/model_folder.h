#pragma once

#include "core/base/result.h"

#include <filesystem>
#include <functional>

namespace headwise {

enum class ExistingFolder {
    Refuse,  ///< unless it is empty
    Replace, ///< the files of a model in it; others stay
};

/// Writes a folder that appears complete or not at all: made beside it, then renamed. The tokenizer's files are copied.
///
/// \param original folder of the model's files, for the tokenizer's
/// \param fill     writes the model's own files into the folder it is given
/// Errors: InvalidArgument if `folder` is not empty, no folder, or `original` itself; what `fill` returns; Io.
Result<Done> writeModelFolder(const std::filesystem::path& original, const std::filesystem::path& folder,
                              ExistingFolder existing,
                              const std::function<Result<Done>(const std::filesystem::path&)>& fill);

} // namespace headwise
