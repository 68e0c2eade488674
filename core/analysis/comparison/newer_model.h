#pragma once

#include "core/model/architecture.h"
#include "core/results/result_set.h"

#include <map>
#include <optional>
#include <string>

namespace headwise {

/// Describes the newer of two compared models, as attributes of /comparison (FORMAT.md).
/// \param source  from which it was opened
std::map<std::string, AttributeValue> attributesOfNewer(const ModelWeights& newer, const ModelSource& source);

/// Where the newer model of a comparison is; nothing if the results compare none.
std::optional<ModelSource> sourceOfNewer(const ResultSet& results);

} // namespace headwise
