#pragma once

#include "core/base/result.h"

#include <filesystem>
#include <span>

namespace headwise {

/// Puts `bytes` in place of what `path` holds, so that a crash, a kill or a full disk leaves the old file or the complete
/// new one: written beside it, forced to disk, renamed, the folder forced to disk. A symlink keeps pointing where it did.
/// Errors: Io, naming the path; nothing is left beside it then.
Result<Done> replaceFile(const std::filesystem::path& path, std::span<const char> bytes);

/// Whether replaceFile has a folder it may write in and no file that it may not; for long work that ends in a file.
/// Errors: Io, naming the path.
Result<Done> canReplaceFile(const std::filesystem::path& path);

} // namespace headwise
