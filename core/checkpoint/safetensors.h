#pragma once

#include "core/base/result.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headwise {

/// How numbers are stored: singly, with safetensors' names (C64 is two F32), in blocks, with ggml's names, or with
/// the help of other tensors (packed_weight.h).
enum class DType {
    Bool,
    F4,
    F6_E2M3,
    F6_E3M2,
    U8,
    I8,
    F8_E5M2,
    F8_E4M3,
    F8_E8M0,
    F8_E4M3FNUZ,
    F8_E5M2FNUZ,
    I16,
    U16,
    F16,
    BF16,
    I32,
    U32,
    F32,
    I64,
    U64,
    F64,
    C64,
    Q4_0,
    Q4_1,
    Q5_0,
    Q5_1,
    Q8_0,
    Q2_K,
    Q3_K,
    Q4_K,
    Q5_K,
    Q6_K,
    Q8_K,
    IQ4_NL,
    IQ4_XS,
    F8_SCALED, ///< 8-bit floats with scales in another tensor.
    INT8_ROWS, ///< bitsandbytes' 8 bits.
    BNB_4BIT,  ///< bitsandbytes' NF4 or FP4.
    GPTQ,
    AWQ,
    MXFP4, ///< 4-bit floats, each 32 of which share a power of two.
};

std::string_view dtypeName(DType dtype);                ///< As in the file: "BF16".
std::optional<DType> dtypeNamed(std::string_view name); ///< Does not know the block types.
int dtypeBits(DType dtype);                             ///< 4, 6, 8, 16, 32 or 64; 0 for block types.

/// A run of indices and the distance in its file between two neighbours, in elements.
struct StoredAxis {
    std::int64_t size = 0, stride = 0;

    bool operator==(const StoredAxis&) const = default;
};

/// A tensor as its file describes it: little endian, row-major and packed unless `axes` say otherwise.
struct StoredTensor {
    std::string name;
    DType dtype = DType::F32;
    std::vector<std::int64_t> shape = {}; ///< Empty for a single number.
    std::size_t begin = 0;                ///< Byte offset in its file.
    std::size_t byteCount = 0;
    int shard = 0; ///< Index of its file in a checkpoint of several.
    /// Layout of numbers that are not packed, slowest axis first; the sizes multiply to those of `shape`.
    std::vector<StoredAxis> axes = {};

    bool operator==(const StoredTensor&) const = default;
};

std::int64_t elementCount(const StoredTensor& tensor);      ///< The product of the shape.
std::string shapeText(std::span<const std::int64_t> shape); ///< "[768, 2304]"

struct SafetensorsHeader {
    std::vector<StoredTensor> tensors; ///< In the order of their bytes in the file.
    std::map<std::string, std::string> metadata;
    std::size_t headerBytes = 0; ///< Offset of the data: 8 + the length of the JSON.
};

/// The format's own limit. A few giant mixtures of experts have longer headers.
inline constexpr std::uint64_t maxSafetensorsHeaderBytes = 100'000'000;

/// Reads and validates the header of a safetensors file, without touching its data.
///
/// Afterwards every tensor's bytes lie in the file, match its dtype and shape, and overlap with no other tensor. Beyond
/// the reference reader it refuses names that occur twice and sizes that are not written as whole numbers.
/// \param file   the whole file, or its beginning with the whole header
/// \param fileName   named in the message
/// \param fileSize   of the whole file; without it `file` is all of it
/// Errors: Corrupt; Unsupported for other formats and for a header past the limit.
/// Source: safetensors, `safetensors/src/tensor.rs`, `Metadata::validate`.
Result<SafetensorsHeader> readSafetensorsHeader(std::span<const std::byte> file, std::string_view fileName,
                                                std::optional<std::size_t> fileSize = {});

} // namespace headwise
