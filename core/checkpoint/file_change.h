#pragma once

#include "core/base/result.h"
#include "core/checkpoint/weight_map.h"

#include <filesystem>

namespace headwise {

/// "model.safetensors changed while it was read; …"
Error changedWhileRead(const std::filesystem::path& file);

/// Checks that no file of the weights was shortened or written into since it was opened. Call it at the end of work that
/// read weights, before giving an answer or writing a file. A file that was removed or replaced by renaming counts as
/// unchanged, because the old one is still mapped.
/// Errors: Io, naming the file. Cost: one stat call per file.
Result<Done> checkUnchanged(const WeightMap& weights);

/// An answer made from the weights, or the error. A changed file takes precedence over every other error but a
/// cancellation, since it probably caused the other.
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
