#pragma once

#include "app/commands/model_arguments.h"
#include "core/analysis/catalogue.h"
#include "core/model/head_list.h"
#include "core/tokenizer/tokenizer.h"

#include <optional>
#include <string>
#include <vector>

namespace headwise::app {

/// Returns openTokenizer()'s tokenizer; none if the model has no tokenizer and --tokenizer names none.
/// Errors: the others of openTokenizer().
Result<std::optional<Tokenizer>> tokenizerOf(const ModelArguments& arguments, const ModelWeights& weights);

/// True for an id without a token; empty without a tokenizer.
std::vector<bool> unusedTokens(const std::optional<Tokenizer>& tokenizer, int dVocab);

/// Returns the id that --token names: #id for any model, else as the tokenizer finds it; none if it was not given.
/// Errors: InvalidArgument if it is empty; NotFound if there is no such token.
Result<std::optional<int>> tokenId(const std::optional<std::string>& given,
                                   const std::optional<Tokenizer>& tokenizer);

} // namespace headwise::app
