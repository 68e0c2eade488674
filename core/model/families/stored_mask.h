#pragma once

#include "core/checkpoint/weight_map.h"

#include <optional>
#include <string>

namespace headwise {

/// The attention mask that a state dict stores for one layer.
struct StoredMask {
    enum class Kind {
        Causal,     ///< Query i sees the keys j ≤ i.
        Window,     ///< Query i sees the keys i − window < j ≤ i.
        Everything, ///< Every query sees every key.
        Other,
    };
    Kind kind = Kind::Other;
    int window = 0;

    bool operator==(const StoredMask&) const = default;
};

/// Reads three rows of a mask, [n, n] behind axes of length 1: truth values, ones and zeros, or zeros and large negative
/// numbers. Nothing if there is no such tensor, or it is too small to tell.
std::optional<StoredMask> storedMask(const WeightMap& file, const std::string& name);

enum class StoredDirection {
    NotTold,       ///< No masks, or causal ones: TransformerLens stores those of bidirectional models too.
    Bidirectional, ///< Every mask lets every query see every key.
    Unclear,       ///< Masks of another kind, or of several kinds.
};

/// Returns what the masks of all layers tell, under the names of TransformerLens, GPT-2, minGPT and GPT-NeoX.
StoredDirection storedDirection(const WeightMap& file);

} // namespace headwise
