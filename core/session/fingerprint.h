#pragma once

#include "core/base/result.h"

#include <filesystem>
#include <string>

namespace headwise {

/// SHA-256 that tells one model from another without reading its numbers: of config.json and each safetensors header (the
/// length and the JSON), or the first MiB of weights in other formats, in the order of the files' names.
/// \param source a model's folder or one weights file, with config.json beside it or without
/// \returns 64 hexadecimal digits
/// Errors: NotFound, Io.
Result<std::string> modelFingerprint(const std::filesystem::path& source);

} // namespace headwise
