#pragma once

#include "core/model/families/family.h"

#include <nlohmann/json_fwd.hpp>

#include <vector>

namespace headwise {

/// A key of ours in configs without a complete origin: the fields that no file states, by configFieldName. It keeps a reader from
/// taking the format's defaults for them.
inline constexpr const char* unknownFieldsKey = "headwise_unknown";

/// The names of the fields as the value of that key.
std::vector<std::string> namesOfUnknown(const std::vector<UnknownField>& fields);

/// Takes that key out of a config and returns the fields that it lists.
std::vector<ConfigField> takeUnknownFields(nlohmann::json& config);

/// Marks the fields as unknown that `config` does not state and that matter to this model, and drops the defaults that were
/// taken for them.
void settleUnknownFields(const Family& family, const std::vector<ConfigField>& fields,
                         const nlohmann::json& config, ModelDescription& description);

} // namespace headwise
