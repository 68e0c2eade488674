#pragma once

#include "core/tokenizer/tokenizer_fields.h"
#include "core/tokenizer/tokenizer_file.h"

#include <nlohmann/json_fwd.hpp>

namespace headwise {

/// Reads the normalizer, pre_tokenizer, decoder and post_processor of a tokenizer.json.
///
/// Faults are reported to `fields`. A step of an unknown type is not an error; the result names it.
TokenizerStages readTokenizerStages(const nlohmann::json& root, TokenizerFields& fields);

} // namespace headwise
