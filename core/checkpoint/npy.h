#pragma once

#include "core/base/task.h"
#include "core/checkpoint/weight_map.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace headwise {

/// Returns the header of a NumPy file: format 1.0, C order, padded so that the numbers start at a multiple of 64.
/// \param type of the numbers, as NumPy writes it: "<f4"
/// Source: NumPy, numpy/lib/format.py.
std::string npyHeader(std::string_view type, const std::vector<std::int64_t>& shape);

/// Returns the NumPy type that keeps a tensor's numbers exactly: its own, or "<f4" if NumPy has none (BF16, F8, decoded
/// ggml blocks).
std::string_view npyTypeOf(DType dtype);

/// Writes a stored tensor to the NumPy file `path`, row-major in its stored shape, block by block.
/// Errors: Unsupported, naming tensor and dtype; Io; Cancelled. The old file is untouched then.
Result<Done> writeNpy(const WeightMap& file, int tensor, const std::filesystem::path& path, const Task& task);

/// An array of real numbers.
struct NpyNumbers {
    std::vector<std::int64_t> shape; // row-major; empty: a scalar
    std::vector<double> values;      // product of shape
};

/// Errors: NotFound, Io; Corrupt; Unsupported (objects, complex numbers); naming the file.
Result<NpyNumbers> readNpyNumbers(const std::filesystem::path& path);

/// Reads the vector in a NumPy file: of shape [n], [1, n] or [n, 1].
/// Errors: NotFound, Io; Corrupt; Unsupported (another shape, objects, complex numbers); naming the file.
Result<std::vector<double>> readNpyVector(const std::filesystem::path& path);

} // namespace headwise
