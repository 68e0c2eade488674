#pragma once

#include "app/commands/model_arguments.h"
#include "core/analysis/catalogue.h"
#include "core/model/head_list.h"
#include "core/tokenizer/tokenizer.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace headwise::app {

/// A model as a command works on it.
struct OpenedModel {
    std::shared_ptr<const ProcessedWeights> weights;
    std::optional<Tokenizer> tokenizer; ///< None if the model has none and --tokenizer names none.

    const Tokenizer* words() const { return tokenizer ? &*tokenizer : nullptr; }
};

/// Errors: those of openProcessed(), and of openTokenizer() unless there is no tokenizer to open.
Result<OpenedModel> openWithTokenizer(const ModelArguments& arguments, const ProcessingArguments& switches,
                                      const Task& task);

/// Opens the tokenizer of the arguments, or the model's own if it has one.
/// Errors: those of openTokenizer() unless there is no tokenizer to open.
Result<std::optional<Tokenizer>> findTokenizer(const ModelArguments& arguments, const ModelWeights& weights);

/// True for an id without a token; empty without a tokenizer.
std::vector<bool> unusedTokens(const std::optional<Tokenizer>& tokenizer, int dVocab);

/// Returns the id that --token names: #id for any model, else as the tokenizer finds it; none if it was not given.
/// Errors: InvalidArgument if it is empty; NotFound if there is no such token.
Result<std::optional<int>> tokenId(const std::optional<std::string>& given,
                                   const std::optional<Tokenizer>& tokenizer);

} // namespace headwise::app
