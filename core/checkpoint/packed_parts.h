#pragma once

#include "core/base/result.h"
#include "core/checkpoint/packed_weight.h"

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace headwise {

/// Returns quantization_config of a folder's config.json, or the older quantize_config.json; null if there is none.
nlohmann::json quantizationConfig(const std::filesystem::path& folder);

using StoredBytes = std::function<std::span<const std::byte>(const StoredTensor&)>;

/// Replaces the parts of each quantised matrix by one tensor NAME.weight [outputs, inputs] with a packed dtype, those of
/// MXFP4 (NAME_blocks and NAME_scales) by NAME [matrices, inputs, outputs].
///
/// Reads bitsandbytes' 4 and 8 bits, GPTQ, AWQ (gemm), MXFP4 and 8-bit floats with one scale a matrix, a row or a block. Parts
/// of other formats, and such that lack another, stay as they are.
/// \param bytes    the bytes of a stored tensor; they must outlive the result
/// \param settings of quantizationConfig()
/// \returns the packed matrices by name
/// Errors: Corrupt, naming the tensor whose shape does not fit; Unsupported (another order of rows or words).
Result<std::map<std::string, PackedWeight>>
joinPackedParts(std::vector<StoredTensor>& tensors, const StoredBytes& bytes, const nlohmann::json& settings);

} // namespace headwise
