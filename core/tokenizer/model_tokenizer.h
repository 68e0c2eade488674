#pragma once

#include "core/base/result.h"
#include "core/checkpoint/weight_map.h"
#include "core/tokenizer/tokenizer.h"

namespace headwise {

/// A model's own tokenizer: the vocabulary inside its one file of weights (GGUF), else what lies in its folder, in the order
/// of Tokenizer::open.
///
/// The one place that decides it, for every command and the window; a tokenizer the user names is opened by Tokenizer::open.
/// Errors: NotFound if it has none; otherwise those of Tokenizer::open.
Result<Tokenizer> openModelTokenizer(const WeightMap& weights);

} // namespace headwise
