#pragma once

#include "core/tokenizer/tokenizer_file.h"

#include <cstddef>
#include <string>
#include <vector>

namespace headwise {

/// Returns "<0x0A>", the spelling of byte 10 in a vocabulary with byte fallback.
std::string byteToken(std::size_t byte);

/// Returns the ids of all byte tokens, [256]; empty if one is missing.
std::vector<int> byteTokenIds(const TokenizerFile& file);

} // namespace headwise
