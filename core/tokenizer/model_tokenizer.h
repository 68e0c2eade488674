#pragma once

#include "core/base/result.h"
#include "core/checkpoint/weight_map.h"
#include "core/tokenizer/tokenizer.h"

namespace headwise {

/// Opens a model's own tokenizer: the vocabulary inside a GGUF file (the first part of a split one), else the files in its folder in the order of
/// Tokenizer::open.
///
/// Every command and the window choose the tokenizer here. One that the user names is opened by Tokenizer::open.
/// Errors: NotFound if it has none; otherwise those of Tokenizer::open.
Result<Tokenizer> openModelTokenizer(const WeightMap& weights);

} // namespace headwise
