#pragma once

#include "app/commands/model_arguments.h"
#include "core/analysis/inputs/token_filter.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace headwise::app {

/// Adds --ascii, --words and the other options of the group "Tokens", which restrict the tokens in tables, ranks and
/// searches.
std::shared_ptr<TokenFilter> addFilterArguments(CLI::App& command);

/// Returns which ids are left out: those without a token and those the filters exclude; empty without a tokenizer.
/// \param count number of ids
/// Errors: InvalidArgument if --min-count has no counts; NotFound if a text filter is on and there is no tokenizer;
/// Cancelled.
Result<std::vector<bool>> leftOutTokens(const TokenFilter& filter, const std::optional<Tokenizer>& tokenizer,
                                        const ProcessedWeights& weights, int count, const Task& task);

/// The same for all ids of a model on either side, with the counts of --token-counts.
/// Errors: the same, and those of tokenCountsOf.
Result<std::vector<bool>> leftOutTokens(TokenFilter filter, const std::optional<std::string>& countsFile,
                                        const std::optional<Tokenizer>& tokenizer,
                                        const ProcessedWeights& weights, const Task& task);

} // namespace headwise::app
