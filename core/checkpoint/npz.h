#pragma once

#include "core/base/result.h"
#include "core/checkpoint/safetensors.h"
#include "core/files/zip_directory.h"

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace headwise {

/// Whether an archive holds NumPy arrays: every member that is no folder ends in ".npy".
bool isNpz(std::span<const ZipEntry> entries);

struct NpzContent {
    std::vector<StoredTensor> tensors;
    std::vector<std::byte>
        unpacked; ///< Where it is not empty, the tensors' places are in it and not in the file.
};

/// The arrays of an .npz by name, without the ".npy".
///
/// None of their numbers is read, unless one of them is compressed or big endian: then all are unpacked into memory.
/// Errors: Corrupt naming the array; Unsupported (objects, other kinds of numbers).
/// Source: NumPy `numpy/lib/format.py`, versions 1 to 3.
Result<NpzContent> readNpz(std::span<const std::byte> file, std::span<const ZipEntry> entries,
                           std::string_view fileName);

} // namespace headwise
