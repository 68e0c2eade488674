#pragma once

#include "core/base/result.h"
#include "core/checkpoint/safetensors.h"
#include "core/files/zip_directory.h"

#include <span>
#include <string_view>
#include <vector>

namespace headwise {

/// The tensors of a PyTorch checkpoint (.bin, .pt, .pth since PyTorch 1.6), by name; none of their numbers is read.
///
/// They are those of the dictionary at the top or, where that holds none, of its only entry among state_dict,
/// model_state_dict, model, module and weights that does. Tensors may share numbers and lie in any strides.
/// \param file, entries   the archive and its members
/// Errors: Unsupported (TorchScript, other objects than tensors, big endian, no or several dictionaries of tensors);
/// Corrupt naming the tensor.
/// Source: PyTorch `torch/serialization.py`, `torch/_utils.py`.
Result<std::vector<StoredTensor>>
readPytorchZip(std::span<const std::byte> file, std::span<const ZipEntry> entries, std::string_view fileName);

} // namespace headwise
