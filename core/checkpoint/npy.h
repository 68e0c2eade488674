#pragma once

#include "core/base/task.h"
#include "core/checkpoint/weight_map.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace headwise {

/// Header of a NumPy file: format 1.0, C order, padded so that the numbers start at a multiple of 64.
/// \param type of the numbers, as NumPy writes it: "<f4"
/// Source: NumPy, numpy/lib/format.py.
std::string npyHeader(std::string_view type, const std::vector<std::int64_t>& shape);

/// The NumPy type that keeps a tensor's numbers exactly: its own, or "<f4" where NumPy has none (BF16, F8, ggml's
/// blocks as they decode).
std::string_view npyTypeOf(DType dtype);

/// Writes a stored tensor as a NumPy file in place of `path`, row-major in its stored shape, block by block.
/// Errors: Unsupported, naming tensor and dtype; Io; Cancelled. The old file is then untouched.
Result<Done> writeNpy(const WeightMap& file, int tensor, const std::filesystem::path& path, const Task& task);

/// An array of real numbers.
struct NpyNumbers {
    std::vector<std::int64_t> shape; // row-major; empty: a scalar
    std::vector<double> values;      // product of shape
};

/// Errors: NotFound, Io; Corrupt; Unsupported (objects, complex numbers); naming the file.
Result<NpyNumbers> readNpyNumbers(const std::filesystem::path& path);

/// The numbers of a NumPy file that holds one vector: of shape [n], or [1, n] or [n, 1].
/// Errors: NotFound, Io; Corrupt; Unsupported (another shape, objects, complex numbers); naming the file.
Result<std::vector<double>> readNpyVector(const std::filesystem::path& path);

} // namespace headwise
