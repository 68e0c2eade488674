#pragma once

#include "core/base/result.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace headwise {

/// One checkpoint of a training.
struct SeriesMember {
    std::int32_t step = 0;
    std::string name;           ///< "step1000", "model_000512.safetensors"
    std::filesystem::path path; ///< A folder or a file that opens as a model.
    std::filesystem::path config =
        {}; ///< The config of the series' folder, for a member without one; empty: its own.
    std::filesystem::path tokenizer =
        {}; ///< The folder with the tokenizer of the series, for a member without one; empty: its own.

    bool operator==(const SeriesMember&) const = default;
};

/// The checkpoints of one training, by rising step.
struct SeriesMembers {
    std::string name;                  ///< Name of the folder or of the cached model.
    std::vector<SeriesMember> members; ///< Never empty.
    std::vector<std::string> notes;    ///< One sentence about numbered entries that are not members.
};

/// Finds the members of a series: sub-folders, or files of weights, whose names have a number behind "step" (step1000,
/// step1000-tokens4B, epoch=3-step=1000.ckpt) or at their end (checkpoint-500, epoch_3, model_000512.pt). If several kinds of names do, the kind with the most entries is the series. A name in the Hugging Face cache
/// has as members its revisions with such a branch or tag. Reads no file of the members.
/// Errors: NotFound if there is no such folder or no member; InvalidArgument if two members have the same step; Io.
Result<SeriesMembers> seriesMembers(const std::filesystem::path& folder);

/// Tells a folder that is nothing but a series: at least two of its members are folders with weights, and it holds no weights
/// itself. Reads no file.
bool isFolderOfCheckpoints(const std::filesystem::path& folder);

} // namespace headwise
