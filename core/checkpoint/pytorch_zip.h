#pragma once

#include "core/base/result.h"
#include "core/checkpoint/safetensors.h"
#include "core/files/zip_directory.h"

#include <span>
#include <string_view>
#include <vector>

namespace headwise {

/// Lists the tensors of a PyTorch checkpoint (.bin, .pt, .pth since PyTorch 1.6) by name, without reading their numbers.
///
/// They come from the top-level dictionary. If that holds no tensors, they come from the only entry that does, among
/// state_dict, model_state_dict, model, module and weights. Tensors may share numbers and have any strides.
/// \param file, entries   the archive and its members
/// Errors: Unsupported (TorchScript, objects other than tensors, big endian, no or several dictionaries of tensors);
/// Corrupt naming the tensor.
/// Source: PyTorch `torch/serialization.py`, `torch/_utils.py`.
Result<std::vector<StoredTensor>>
readPytorchZip(std::span<const std::byte> file, std::span<const ZipEntry> entries, std::string_view fileName);

} // namespace headwise
