#pragma once

#include "core/checkpoint/safetensors.h"

#include <cstddef>

namespace headwise {

/// True for F64 F32 F16 BF16 F8_E4M3 F8_E5M2, the types a weight may have.
bool isReadableFloat(DType dtype);
bool isReadableInteger(
    DType dtype); ///< True for BOOL and 8 to 64 bits, signed or not: buffers and masks, never a weight.

/// A stored rectangle of numbers, by element strides: (r, c) is element r·rowStride + c·colStride.
struct StoredRectangle {
    DType dtype = DType::F32;
    const std::byte* begin = nullptr; ///< Any alignment.
    std::ptrdiff_t rowStride = 0, colStride = 0;
    std::ptrdiff_t rows = 0, cols = 0;
};

/// Decodes the rectangle into column-major `out`, [rows, cols]. Exact if Scalar can hold the number, else rounded to
/// nearest: F64 and wide integers as float, integers beyond 2^53 as double.
///
/// The dtype must be a readable float or integer. Both strides are equally fast, because the copy goes by tiles that fit
/// into the first cache.
/// Source: IEEE 754 for F16; "FP8 Formats for Deep Learning" (2022), table 1: E4M3 has no infinity.
template <typename Scalar>
void readRectangle(const StoredRectangle& stored, Scalar* out);

} // namespace headwise
