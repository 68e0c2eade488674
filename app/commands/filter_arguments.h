#pragma once

#include "app/commands/model_arguments.h"
#include "core/analysis/token_filter.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace headwise::app {

/// --ascii, --words, --trained and --min-count: which tokens tables, ranks and searches look at.
std::shared_ptr<TokenFilter> addFilterArguments(CLI::App& command);

/// "--ascii --words", those that are on.
std::string filterName(const TokenFilter& filter);

/// The ids that are left out: those without a token, and what the filters leave out; empty without a tokenizer.
/// \param count how many ids are asked about
/// Errors: InvalidArgument if --min-count has no counts; NotFound if a filter that looks at texts is on and there is no tokenizer; Cancelled.
Result<std::vector<bool>> leftOutTokens(const TokenFilter& filter, const std::optional<Tokenizer>& tokenizer,
                                        const ProcessedWeights& weights, int count, const Task& task);

} // namespace headwise::app
