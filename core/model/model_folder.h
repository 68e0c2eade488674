#pragma once

#include "core/base/result.h"

#include <filesystem>
#include <functional>
#include <utility>

namespace headwise {

enum class ExistingFolder {
    Refuse,  ///< unless it is empty
    Replace, ///< the files of a model in it; others stay
};

/// Source of the files beside the weights.
struct OriginalFiles {
    /// \param modelTokenizer none: that of the model's folder
    OriginalFiles(std::filesystem::path modelFolder, std::filesystem::path modelTokenizer = {})
        : folder(std::move(modelFolder))
        , tokenizer(std::move(modelTokenizer))
    {
    }

    std::filesystem::path folder;    ///< Folder of the model's files.
    std::filesystem::path tokenizer; ///< Another folder, or one file; what is inside a GGUF file stays there.
};

/// Writes a folder that appears complete or not at all: made beside it, then exchanged for the old one in one step. The
/// tokenizer's files are copied.
///
/// \param fill     writes the model's own files into the folder it is given
/// Errors: InvalidArgument if `folder` is not empty, no folder, or the model's own; what `fill` returns; Io.
Result<Done> writeModelFolder(const OriginalFiles& original, const std::filesystem::path& folder,
                              ExistingFolder existing,
                              const std::function<Result<Done>(const std::filesystem::path&)>& fill);

} // namespace headwise
