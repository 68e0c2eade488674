#pragma once

#include "core/model/config.h"

#include <string>
#include <vector>

namespace headwise {

/// Returns labels of two or three words for everything in a head beside the bare products of its matrices: "rotary: QK at
/// Δ = 0", "QK-norm", "soft cap 50", "window 4096". circuitNotes() has a sentence for each.
/// \param layer of the head, as windows and rotary positions can differ from layer to layer
std::vector<std::string> circuitBadges(const ModelConfig& config, int layer);

} // namespace headwise
