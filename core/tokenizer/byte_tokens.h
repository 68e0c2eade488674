#pragma once

#include "core/tokenizer/tokenizer_file.h"

#include <cstddef>
#include <string>
#include <vector>

namespace headwise {

/// "<0x0A>", how a vocabulary with byte fallback spells the byte 10.
std::string byteToken(std::size_t byte);

/// Their ids, [256]; none if one is missing.
std::vector<int> byteTokenIds(const TokenizerFile& file);

} // namespace headwise
