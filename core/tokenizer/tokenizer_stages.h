#pragma once

#include "core/tokenizer/tokenizer_fields.h"
#include "core/tokenizer/tokenizer_file.h"

#include <nlohmann/json_fwd.hpp>

namespace headwise {

/// The normalizer, pre_tokenizer, decoder and post_processor of a tokenizer.json.
///
/// Faults in them are reported to `fields`; a step of an unknown type is not an error but named in the result.
TokenizerStages readTokenizerStages(const nlohmann::json& root, TokenizerFields& fields);

} // namespace headwise
