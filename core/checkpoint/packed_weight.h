#pragma once

#include "core/checkpoint/safetensors.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace headwise {

/// A stored tensor that a packed matrix is decoded from. Empty bytes: there is none.
struct PackedPart {
    DType dtype = DType::F32;
    std::vector<std::int64_t> shape = {};
    std::span<const std::byte> bytes = {};
};

/// A weight matrix [rows, cols] in row-major order that several stored tensors make up; of MXFP4 a stack of them, which
/// its numbers [matrices, cols, groups, 16] hold transposed.
struct PackedWeight {
    DType format = DType::F8_SCALED; ///< isPacked() is true.
    std::int64_t rows = 0, cols = 0;
    PackedPart numbers = {}, scales = {}, zeros = {};
    PackedPart groups = {}; ///< [cols] the group of each input, GPTQ only.
    PackedPart table = {};  ///< [16] the values of a 4-bit number, bitsandbytes only.
    /// Scales of the scales, and [256] the values of a byte, where bitsandbytes quantised the scales too.
    PackedPart outerScales = {}, outerTable = {};
    int bits = 4;
    std::int64_t blockRows = 1, blockCols = 1; ///< Numbers that share a scale.
    std::int64_t outerBlock = 256;             ///< Scales that share an outer scale.
    float outerOffset = 0;
    int zeroShift = 0; ///< Added to each stored zero point.
};

/// True for F8_SCALED, INT8_ROWS, BNB_4BIT, GPTQ, AWQ and MXFP4.
bool isPacked(DType dtype);

/// Decodes the numbers [first, first + count) in float32 arithmetic, as the libraries that wrote the files do.
///
/// F8_SCALED: number · scale. INT8_ROWS: number · scale · (1/127). BNB_4BIT: table[index] · scale, the scales themselves
/// table[byte] · scale + offset where they are nested. GPTQ and AWQ: (number − zero) · scale. MXFP4: number · 2^(scale − 127),
/// the lower half of a byte first; NaN for the scale 255.
/// Source: bitsandbytes `functional.py`; AutoGPTQ `qlinear_cuda_old.py`; AutoAWQ `utils/packing_utils.py`; DeepSeek-V3
/// `inference/kernel.py`, `weight_dequant`; OCP Microscaling Formats v1.0, sections 5.3.3 and 5.4.1.
template <typename Scalar>
void readPacked(const PackedWeight& weight, std::int64_t first, std::int64_t count, Scalar* out);

} // namespace headwise
