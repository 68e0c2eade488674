#pragma once

#include "core/base/result.h"
#include "core/checkpoint/safetensors.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headwise {

/// A llama2.c model in the terms of LlamaForCausalLM.
struct Llama2cModel {
    std::string config;                ///< The text of a config.json.
    std::vector<StoredTensor> tensors; ///< Rows of Q and K in half-split rotary order, by their axes.
};

/// Whether the file is one of version 0, which has no mark: seven plausible numbers and exactly the size they give.
bool isLlama2cVersion0(std::span<const std::byte> file);

/// Reads the header of a llama2.c .bin of version 0 or 1, which fixes where every weight lies; touches none of them.
///
/// Its rotary pairs are adjacent: row 2j + s of a head of Q or K is row s·h/2 + j of the Hugging Face layout.
/// Errors: Corrupt if the file is not as long as its header says; Unsupported for version 2 (8-bit numbers).
/// Source: llama2.c `export.py`, `run.c`.
Result<Llama2cModel> readLlama2c(std::span<const std::byte> file, std::string_view fileName);

} // namespace headwise
