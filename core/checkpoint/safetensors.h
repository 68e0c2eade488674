#pragma once

#include "core/base/result.h"
#include "core/base/task.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headwise {

/// How numbers are stored: one by one, by the names of the safetensors format (C64 is two F32), or in blocks, by ggml's.
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
    Q8_0,
    Q4_K,
    Q6_K,
};

std::string_view dtypeName(DType dtype);                ///< As in the file: "BF16".
std::optional<DType> dtypeNamed(std::string_view name); ///< None of those in blocks.
int dtypeBits(DType dtype);                             ///< 4, 6, 8, 16, 32 or 64; 0 for those in blocks.

/// A run of indices and how far apart in its file two neighbours are, in elements.
struct StoredAxis {
    std::int64_t size = 0, stride = 0;

    bool operator==(const StoredAxis&) const = default;
};

/// A tensor as its file describes it: row-major, little endian, and packed but where `axes` say otherwise.
struct StoredTensor {
    std::string name;
    DType dtype = DType::F32;
    std::vector<std::int64_t> shape = {}; ///< Empty for a single number.
    std::size_t begin = 0;                ///< Byte offset in its file.
    std::size_t byteCount = 0;
    int shard = 0; ///< Index of its file, for a checkpoint of several.
    /// Where the numbers lie if not one after another, slowest axis first; their sizes multiply to those of `shape`.
    std::vector<StoredAxis> axes = {};

    bool operator==(const StoredTensor&) const = default;
};

std::int64_t elementCount(const StoredTensor& tensor);      ///< The product of the shape.
std::string shapeText(std::span<const std::int64_t> shape); ///< "[768, 2304]"

struct SafetensorsHeader {
    std::vector<StoredTensor> tensors; ///< In the order of their bytes.
    std::map<std::string, std::string> metadata;
    std::size_t headerBytes = 0; ///< Where the data begin: 8 + the length of the JSON.
};

/// The limit of the format. Headers of a few giant mixtures of experts are longer.
inline constexpr std::uint64_t maxSafetensorsHeaderBytes = 100'000'000;

/// Reads and validates everything a safetensors file says about itself; touches none of its data.
///
/// Afterwards every tensor's bytes lie in the file, are as many as dtype and shape need, and overlap with no other's.
/// Beyond the reference reader it refuses names that occur twice and sizes that are not whole-number tokens.
/// \param file   the whole file
/// \param fileName   named in the message
/// Errors: Corrupt; Unsupported for other formats and for a header past the limit.
/// Source: safetensors, `safetensors/src/tensor.rs`, `Metadata::validate`.
Result<SafetensorsHeader> readSafetensorsHeader(std::span<const std::byte> file, std::string_view fileName);

/// A tensor for the writer: what the header says, and a function that makes its bytes when their turn comes.
struct TensorToWrite {
    std::string name;
    DType dtype = DType::F32;
    std::vector<std::int64_t> shape;
    std::function<Result<std::vector<std::byte>>()> bytes; ///< Row-major, little endian.
};

/// Writes a safetensors file in place of `file`, one tensor in memory at a time; see replaceFile().
///
/// Tensors are stored by falling dtype width, then by name, as the reference writer does.
/// Errors: InvalidArgument (a name twice, a negative size); Internal if `bytes` returns another number than the
/// shape needs; what `bytes` returns; Io; Cancelled. The old file is then untouched.
Result<Done> writeSafetensors(const std::filesystem::path& file, std::vector<TensorToWrite> tensors,
                              const std::map<std::string, std::string>& metadata, const Task& task);

} // namespace headwise
