#pragma once

#include "core/checkpoint/weight_map.h"
#include "core/model/adapters/adapter.h"

#include <map>
#include <memory>

namespace headwise {

/// Reads an adapter's tensors against the base: which matrix of it each pair changes. Reads headers only.
/// \returns the changes by the base's tensors
/// Errors: Corrupt or Unsupported, naming the tensor, what was expected and what was found.
Result<std::map<int, LowRankChange>> readChanges(const AdaptedSource& source, const WeightMap& base,
                                                 std::shared_ptr<const WeightMap> adapter);

} // namespace headwise
