#pragma once

#include "core/analysis/catalogue.h"

#include <string>
#include <string_view>
#include <vector>

namespace headwise {

inline constexpr std::size_t longestCycle = 4096; ///< Ids in a cycle.

/// Reads token ids in cyclic order: "0-112", or "3321,3431,3583", or both mixed.
/// Errors: InvalidArgument if it is not such a list, names an id twice, or holds fewer than 4 or more than longestCycle ids.
Result<std::vector<int>> parseTokenCycle(std::string_view text);

/// Returns the ids in the form that parseTokenCycle() reads.
std::string tokenCycleText(const std::vector<int>& ids);

/// Returns the cycle of these options. Without one, all ids that are both read and written.
std::vector<int> tokenCycleOf(const ModelConfig& config, const AnalysisOptions& options);

/// Explains why these options have no cycle in this model; empty if they have one.
std::string whyNoTokenCycle(const ModelConfig& config, const AnalysisOptions& options);

} // namespace headwise
