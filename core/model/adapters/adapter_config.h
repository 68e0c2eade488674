#pragma once

#include "core/base/result.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace headwise {

/// A LoRA adapter's adapter_config.json, as PEFT writes it.
struct AdapterConfig {
    int rank = 8;
    double alpha = 8;
    bool isRankStabilised = false; ///< use_rslora: the scale is alpha / √rank, not alpha / rank.
    bool isDora = false;
    bool isTransposed = false;            ///< fan_in_fan_out: the base stores [inputs, outputs].
    std::map<std::string, double> ranks;  ///< rank_pattern: the end of a module's name → its rank.
    std::map<std::string, double> alphas; ///< alpha_pattern
    std::string base;                     ///< base_model_name_or_path; a hint, since models move.
    std::string revision;                 ///< The revision of the base in the Hugging Face cache.
    std::vector<std::string> warnings;

    /// The rank that the config gives for a module ("model.layers.0.self_attn.q_proj").
    int rankOf(std::string_view module) const;
    /// alpha / rank or alpha / √rank.
    double scaleOf(std::string_view module) const;
};

/// \param file  named in messages
/// Errors: Corrupt (bad JSON, a value of the wrong kind); Unsupported, naming key and value (another PEFT method, trained
/// biases, modules saved whole, a regular expression as pattern, an initialisation that changes the base).
Result<AdapterConfig> readAdapterConfig(std::string_view text, std::string_view file);

} // namespace headwise
