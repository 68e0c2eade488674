#pragma once

#include "app/commands/model_arguments.h"
#include "core/analysis/inputs/token_filter.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace headwise::app {

/// --ascii, --words and the others of the group "Tokens": which tokens tables, ranks and searches look at.
std::shared_ptr<TokenFilter> addFilterArguments(CLI::App& command);

/// The ids that are left out: those without a token, and what the filters leave out; empty without a tokenizer.
/// \param count how many ids are asked about
/// Errors: InvalidArgument if --min-count has no counts; NotFound if a filter that looks at texts is on and there is no tokenizer; Cancelled.
Result<std::vector<bool>> leftOutTokens(const TokenFilter& filter, const std::optional<Tokenizer>& tokenizer,
                                        const ProcessedWeights& weights, int count, const Task& task);

/// The same of all ids of a model on either side, with the counts of --token-counts.
/// Errors: the same, and those of tokenCountsOf.
Result<std::vector<bool>> leftOutTokens(TokenFilter filter, const std::optional<std::string>& countsFile,
                                        const std::optional<Tokenizer>& tokenizer,
                                        const ProcessedWeights& weights, const Task& task);

} // namespace headwise::app
