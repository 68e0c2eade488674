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

/// A weight matrix [rows, cols] in row-major order that several stored tensors make up.
struct PackedWeight {
    DType format = DType::F8_SCALED; ///< isPacked() is true.
    std::int64_t rows = 0, cols = 0;
    PackedPart numbers = {}, scales = {}, zeros = {};
    PackedPart groups = {}; ///< [cols] the group of each input, GPTQ alone.
    PackedPart table = {};  ///< [16] the values of a 4-bit number, bitsandbytes alone.
    /// Scales of the scales, and [256] the values of a byte, where bitsandbytes quantised the scales too.
    PackedPart outerScales = {}, outerTable = {};
    int bits = 4;
    std::int64_t blockRows = 1, blockCols = 1; ///< Numbers that share a scale.
    std::int64_t outerBlock = 256;             ///< Scales that share an outer scale.
    float outerOffset = 0;
    int zeroShift = 0; ///< Added to each stored zero point.
};

/// True for F8_SCALED, INT8_ROWS, BNB_4BIT, GPTQ and AWQ.
bool isPacked(DType dtype);

/// Decodes the numbers [first, first + count) in float32 arithmetic, as the libraries that wrote the files do.
///
/// F8_SCALED: number · scale. INT8_ROWS: number · scale · (1/127). BNB_4BIT: table[index] · scale, the scales themselves
/// table[byte] · scale + offset where they are nested. GPTQ and AWQ: (number − zero) · scale.
/// Source: bitsandbytes `functional.py`; AutoGPTQ `qlinear_cuda_old.py`; AutoAWQ `utils/packing_utils.py`; DeepSeek-V3
/// `inference/kernel.py`, `weight_dequant`.
template <typename Scalar>
void readPacked(const PackedWeight& weight, std::int64_t first, std::int64_t count, Scalar* out);

} // namespace headwise
