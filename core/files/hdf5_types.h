#pragma once

// Private to hdf5_file.cpp: the types and shapes that Headwise reads from a file it does not trust.

#include "core/files/hdf5.h"
#include "core/files/hdf5_handle.h"

#include <optional>

namespace headwise::hdf5 {

/// Number types that a stored type can be read as, in the order of Hdf5Values.
enum class NumberType { None, F32, F64, I32, C64, C128 };

NumberType numberType(hid_t type);
Handle memoryTypeOf(NumberType type);

bool isBool(hid_t type);
Hdf5Kind datasetKind(hid_t type);

/// The number of values of a shape; nothing if 64 times as many would overflow.
std::optional<std::size_t> product(const std::vector<std::size_t>& shape);

/// Nothing for a null space, or one of more than maxRank dimensions.
std::optional<std::vector<std::size_t>> shapeOf(hid_t space);

/// Prints a shape as [2, 3].
std::string printed(const std::vector<std::size_t>& shape);

} // namespace headwise::hdf5
