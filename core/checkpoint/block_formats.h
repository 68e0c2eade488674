#pragma once

#include "core/checkpoint/safetensors.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace headwise {

/// How many numbers a quantised format stores in how many bytes. Other dtypes have blocks of 0.
struct BlockSize {
    std::int64_t numbers = 0;
    std::size_t bytes = 0;
};

BlockSize blockSize(DType dtype);

std::optional<DType>
blockedDType(std::uint32_t ggmlType); ///< By the number in ggml.h; nothing for other types.
std::string blockedDTypeNames();      ///< "Q4_0, Q4_1, …", for messages.

/// Decodes the numbers [first, first + count) of a row of blocks, bit for bit as ggml's float32 arithmetic does.
///
/// Source: ggml `src/ggml-quants.c`, `dequantize_row_*`; `src/ggml-common.h` for the layouts.
template <typename Scalar>
void readBlocks(DType dtype, const std::byte* blocks, std::int64_t first, std::int64_t count, Scalar* out);

} // namespace headwise
