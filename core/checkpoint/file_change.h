#pragma once

#include "core/base/result.h"
#include "core/checkpoint/weight_map.h"

#include <filesystem>

namespace headwise {

/// "model.safetensors changed while it was read; …"
Error changedWhileRead(const std::filesystem::path& file);

/// Whether no file of the weights was shortened or written into since it was opened. Work that read weights asks at its end,
/// before it gives an answer or writes a file. A file that was removed or replaced by renaming is unchanged: the old one is
/// still mapped.
/// Errors: Io, naming the file. Cost: one look at each file.
Result<Done> checkUnchanged(const WeightMap& weights);

/// An answer that was made from the weights, or why there is none. A file that changed goes before every other reason but a
/// cancellation: whatever else went wrong came of it.
template <typename Answer>
Result<Answer> checkedAnswer(Result<Answer> answer, const WeightMap& weights)
{
    if (!answer && answer.error().code == ErrorCode::Cancelled)
        return answer;
    if (const Result<Done> unchanged = checkUnchanged(weights); !unchanged)
        return unchanged.error();
    return answer;
}

} // namespace headwise
