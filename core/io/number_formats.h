#pragma once

#include "core/io/safetensors.h"

#include <cstddef>

namespace headwise {

bool isReadableFloat(DType dtype); ///< F64 F32 F16 BF16 F8_E4M3 F8_E5M2: those readRectangle() decodes.

/// Numbers of a stored rectangle, by element strides: (r, c) is element r·rowStride + c·colStride.
struct StoredRectangle {
    DType dtype = DType::F32;
    const std::byte* begin = nullptr; ///< Any alignment.
    std::ptrdiff_t rowStride = 0, colStride = 0;
    std::ptrdiff_t rows = 0, cols = 0;
};

/// Decodes the rectangle into column-major `out`, [rows, cols]. Exact, but for F64 read as float, which rounds to nearest.
///
/// Both strides are equally fast: the copy goes by tiles that stay in the first cache.
/// Source: IEEE 754 for F16; "FP8 Formats for Deep Learning" (2022), table 1: E4M3 has no infinity.
template <typename Scalar>
void readRectangle(const StoredRectangle& stored, Scalar* out);

} // namespace headwise
