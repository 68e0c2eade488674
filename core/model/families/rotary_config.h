#pragma once

#include "core/model/config_reader.h"

#include <nlohmann/json_fwd.hpp>

namespace headwise {

/// The rotary embedding of a config that says nothing about it.
struct RotaryStandard {
    double base = 10000;
    double part = 1;         ///< The rotated part of a head.
    int originalContext = 0; ///< Positions before the frequencies were scaled; 0: not known.
};

/// Reads the rotary embedding of a config with d_head and n_ctx, in the old spelling (rope_theta, rope_scaling) and the new
/// (rope_parameters). Where frequencies change for the whole prompt beyond some length (longrope), n_ctx becomes that length.
Rotary readRotary(ModelConfig& config, const nlohmann::json& json, ConfigReader& reader,
                  const RotaryStandard& standard);

/// Where rope_parameters holds one object for layers of full attention and one for those that slide, the config with the
/// first in their place.
nlohmann::json withFullRope(nlohmann::json config);

/// The rotary embedding of layers that slide: rope_parameters.sliding_attention, or an unscaled one.
Rotary readSlidingRotary(ModelConfig& config, const nlohmann::json& json, ConfigReader& reader, double base);

} // namespace headwise
