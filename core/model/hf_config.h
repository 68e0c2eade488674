#pragma once

#include "core/model/architecture.h"
#include "core/model/config_reader.h"

#include <nlohmann/json_fwd.hpp>

#include <string_view>
#include <vector>

namespace headwise {

// What the configs of many Hugging Face families have in common.

/// d_head = d_model / n_heads, unless `given`.
void splitHeads(ModelConfig& config, ConfigReader& reader, std::optional<int> given = std::nullopt);

/// d_mlp, or 4 · d_model where the key is null.
int readMlpWidth(const ModelConfig& config, ConfigReader& reader, ConfigReader::Names names);

/// The rotary embedding of a config with d_head and n_ctx, in the old spelling (rope_theta, rope_scaling) and the new
/// (rope_parameters). Where frequencies change for the whole prompt beyond some length (longrope), n_ctx becomes that length.
Rotary readRotary(ModelConfig& config, const nlohmann::json& json, ConfigReader& reader, double standardBase,
                  double standardPart = 1);

/// Where rope_parameters holds one object for layers of full attention and one for those that slide, the config with the
/// first in their place.
nlohmann::json withFullRope(nlohmann::json config);

/// The rotary embedding of layers that slide: rope_parameters.sliding_attention, or an unscaled one.
Rotary readSlidingRotary(ModelConfig& config, const nlohmann::json& json, ConfigReader& reader, double base);

/// layerRotary: `sliding` where a layer slides, config.rotary elsewhere.
void rotateSlidingLayers(ModelConfig& config, const std::vector<bool>& slides, const Rotary& sliding);

/// n_layers, for allocations made before the sizes are checked.
std::size_t believedLayers(const ModelConfig& config);

/// `layer_types` ("full_attention" or "sliding_attention" per layer) if it is there; otherwise nothing.
/// \returns [n_layers] true where a layer slides, or empty
std::vector<bool> readSlidingLayers(const ModelConfig& config, const nlohmann::json& json,
                                    ConfigReader& reader);

/// [n_layers]: `window` where a layer slides, else 0; empty if none does.
std::vector<int> windowsOf(const std::vector<bool>& slides, int window);

/// Encoders, cross-attention, quantised weights, activations with a norm inside: refused for every family; keys that
/// change nothing: ignored.
void finishHuggingFaceKeys(const ModelConfig& config, ConfigReader& reader);

/// The config with what the reader noted, or its faults.
Result<ModelDescription> describe(ModelConfig config, const ConfigReader& reader, const BiasPresence& biases);

} // namespace headwise
