#pragma once

#include "core/base/result.h"
#include "core/io/safetensors.h"
#include "core/io/zip_directory.h"

#include <span>
#include <string_view>
#include <vector>

namespace headwise {

/// Whether an archive holds NumPy arrays: every member that is no folder ends in ".npy".
bool isNpz(std::span<const ZipEntry> entries);

/// The arrays of an .npz by name, without the ".npy"; none of their numbers is read.
///
/// Errors: Corrupt naming the array; Unsupported (compressed, big endian, objects, other kinds of numbers).
/// Source: NumPy `numpy/lib/format.py`, versions 1 to 3.
Result<std::vector<StoredTensor>> readNpz(std::span<const std::byte> file, std::span<const ZipEntry> entries,
                                          std::string_view fileName);

} // namespace headwise
