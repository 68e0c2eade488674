#pragma once

#include "core/model/architecture.h"
#include "core/results/result_set.h"

#include <map>
#include <optional>
#include <string>

namespace headwise {

/// Describes the newer of two compared models, as attributes of /comparison (FORMAT.md).
/// \param source  where it was opened from
std::map<std::string, AttributeValue> attributesOfNewer(const ModelWeights& newer, const ModelSource& source);

/// Returns where the newer model of a comparison was opened from; empty if the results compare no models.
std::optional<ModelSource> sourceOfNewer(const ResultSet& results);

} // namespace headwise
