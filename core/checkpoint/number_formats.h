#pragma once

#include "core/checkpoint/safetensors.h"

#include <cstddef>

namespace headwise {

bool isReadableFloat(DType dtype); ///< F64 F32 F16 BF16 F8_E4M3 F8_E5M2: those a weight may have.
bool isReadableInteger(
    DType dtype); ///< BOOL and 8 to 64 bits, signed or not: buffers and masks, never a weight.

/// Numbers of a stored rectangle, by element strides: (r, c) is element r·rowStride + c·colStride.
struct StoredRectangle {
    DType dtype = DType::F32;
    const std::byte* begin = nullptr; ///< Any alignment.
    std::ptrdiff_t rowStride = 0, colStride = 0;
    std::ptrdiff_t rows = 0, cols = 0;
};

/// Decodes the rectangle into column-major `out`, [rows, cols]. Exact where Scalar can hold the number, else rounded
/// to nearest: F64 and wide integers as float, integers beyond 2^53 as double.
///
/// The dtype must be a readable float or integer.
/// Both strides are equally fast: the copy goes by tiles that stay in the first cache.
/// Source: IEEE 754 for F16; "FP8 Formats for Deep Learning" (2022), table 1: E4M3 has no infinity.
template <typename Scalar>
void readRectangle(const StoredRectangle& stored, Scalar* out);

} // namespace headwise
