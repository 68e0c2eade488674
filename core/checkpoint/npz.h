#pragma once

#include "core/base/result.h"
#include "core/checkpoint/safetensors.h"
#include "core/files/zip_directory.h"

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace headwise {

/// Tells whether an archive holds NumPy arrays: every member that is not a folder ends in ".npy".
bool isNpz(std::span<const ZipEntry> entries);

struct NpzContent {
    std::vector<StoredTensor> tensors;
    std::vector<std::byte>
        unpacked; ///< If it is not empty, the tensors' offsets refer to it and not to the file.
};

/// Returns the arrays of an .npz by name, without the ".npy".
///
/// Nothing but headers is read, unless an array is compressed or big endian: then all are unpacked into memory.
/// Errors: Corrupt naming the array; Unsupported (objects, other kinds of numbers).
/// Source: NumPy `numpy/lib/format.py`, versions 1 to 3.
Result<NpzContent> readNpz(std::span<const std::byte> file, std::span<const ZipEntry> entries,
                           std::string_view fileName);

} // namespace headwise
