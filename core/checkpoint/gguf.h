#pragma once

#include "core/base/result.h"
#include "core/checkpoint/safetensors.h"

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace headwise {

/// A metadata value. Arrays of numbers and flags are stored as doubles, which hold every id exactly.
using GgufValue =
    std::variant<std::int64_t, double, std::string, std::vector<double>, std::vector<std::string>>;

struct GgufHeader {
    std::map<std::string, GgufValue> metadata;
    std::vector<StoredTensor>
        tensors; ///< Names as in the file; shapes with the slowest axis first, as everywhere.
    std::size_t headerBytes = 0;
    /// The numbers of rope_freqs.weight, divisors of the rotary frequencies; empty without it.
    std::vector<double> rotaryDivisors = {};
};

/// Reads and validates the header of a GGUF file of version 2 or 3, and of the tensors the one that belongs to its config.
///
/// Errors: Corrupt; Unsupported (version 1, big endian, an unsupported number type, named with its tensor).
/// Source: ggml `docs/gguf.md`, `src/gguf.cpp`.
Result<GgufHeader> readGgufHeader(std::span<const std::byte> file, std::string_view fileName);

/// A GGUF model described as the Hugging Face checkpoint it was converted from.
struct GgufModel {
    std::string config;                ///< The text of a config.json.
    std::vector<StoredTensor> tensors; ///< The axes put rows back into their original order.
    std::vector<std::string> warnings;
};

/// Undoes the changes of llama.cpp's converter: names, order of rows and keys, by the table in gguf_architectures.cpp.
///
/// The converter reorders the rows of a Llama's Q and K, per head, from half-split to adjacent rotary pairs: its row 2j + s
/// was row s·h/2 + j. It adds 1 to the norms of a Gemma; the config then has rmsnorm_uses_offset = false.
/// Errors: Unsupported, naming another architecture or a key that changes the function; Corrupt for contradictory sizes.
/// Source: llama.cpp `convert_hf_to_gguf.py`, `LlamaModel.permute`.
Result<GgufModel> huggingFaceModel(const GgufHeader& header, std::string_view fileName);

} // namespace headwise
