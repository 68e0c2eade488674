#pragma once

#include "core/model/config.h"

#include <string>
#include <vector>

namespace headwise {

/// What stands beside the bare products of a head's matrices, in two or three words each, the same things of which
/// circuitNotes() has the sentences: "rotary: QK at Δ = 0", "QK-norm", "soft cap 50", "window 4096".
/// \param layer of the head, as windows and rotary positions can differ from layer to layer
std::vector<std::string> circuitBadges(const ModelConfig& config, int layer);

} // namespace headwise
