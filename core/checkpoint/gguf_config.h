#pragma once

#include "core/base/result.h"
#include "core/checkpoint/gguf.h"
#include "core/checkpoint/gguf_architectures.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace headwise {

/// The metadata of a GGUF file as the config of the model that was converted.
struct GgufConfig {
    std::string text = {}; ///< The text of a config.json.
    std::int64_t heads = 0, kvHeads = 0;
    bool hasSecondNorm =
        false; ///< Attention and MLP of a Falcon read norms of their own, attn_norm_2 and attn_norm.
    std::string warning = {}; ///< Names keys that were not read; empty if there are none.
};

/// Errors: Corrupt (a size is missing); Unsupported, naming a key that changes the function and is not read.
Result<GgufConfig> ggufConfig(const GgufHeader& header, std::string_view fileName,
                              const GgufArchitecture& architecture);

/// The new name in a table; nothing if it has none.
std::optional<std::string> newName(std::span<const GgufRename> names, std::string_view name);

} // namespace headwise
