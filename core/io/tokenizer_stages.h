#pragma once

#include "core/io/tokenizer_fields.h"
#include "core/io/tokenizer_file.h"

#include <nlohmann/json_fwd.hpp>

namespace headwise {

/// The normalizer, pre_tokenizer, decoder and post_processor of a tokenizer.json.
///
/// What is wrong with them is said to `fields`; a step of a type we do not know is no error but named in the result.
TokenizerStages readTokenizerStages(const nlohmann::json& root, TokenizerFields& fields);

} // namespace headwise
