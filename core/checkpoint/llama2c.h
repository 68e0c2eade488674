#pragma once

#include "core/base/result.h"
#include "core/checkpoint/safetensors.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headwise {

/// A llama2.c model described as LlamaForCausalLM.
struct Llama2cModel {
    std::string config;                ///< The text of a config.json.
    std::vector<StoredTensor> tensors; ///< The axes put the rows of Q and K into half-split rotary order.
};

/// Recognises version 0, which has no magic number: seven plausible sizes, and a file of exactly the length they give.
bool isLlama2cVersion0(std::span<const std::byte> file);

/// Reads the header of a llama2.c .bin of version 0 or 1, which fixes where every weight lies, without touching any
/// weight.
///
/// Its rotary pairs are adjacent: row 2j + s of a head of Q or K is row s·h/2 + j in the Hugging Face layout.
/// Errors: Corrupt if the length of the file contradicts its header; Unsupported for version 2 (8-bit numbers).
/// Source: llama2.c `export.py`, `run.c`.
Result<Llama2cModel> readLlama2c(std::span<const std::byte> file, std::string_view fileName);

} // namespace headwise
