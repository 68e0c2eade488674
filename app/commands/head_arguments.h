#pragma once

#include "app/commands/model_arguments.h"
#include "core/analysis/catalogue.h"
#include "core/model/head_list.h"
#include "core/tokenizer/tokenizer.h"

#include <optional>
#include <string>
#include <vector>

namespace headwise::app {

/// "full-ov" or "full-qk".
std::optional<CircuitKind> parseFullCircuit(const std::string& name);

/// --offset N: Δ of full QK with rotary positions.
void addOffsetOption(CLI::App& command, int& offset);
/// Why a circuit has no offset; none if it has, or none is asked for.
std::optional<Error> wrongOffset(int offset, const std::string& circuit);

/// What openTokenizer() finds; none if the model has no tokenizer and --tokenizer does not name one.
/// Errors: the others of openTokenizer().
Result<std::optional<Tokenizer>> tokenizerOf(const ModelArguments& arguments, const ModelWeights& weights);

/// true: an id without a token; empty without a tokenizer.
std::vector<bool> unusedTokens(const std::optional<Tokenizer>& tokenizer, int dVocab);

/// The id that --token names: #id whatever the model has, else what the tokenizer finds; none if it was not given.
/// Errors: InvalidArgument if it is empty; NotFound if there is no such token.
Result<std::optional<int>> tokenId(const std::optional<std::string>& given,
                                   const std::optional<Tokenizer>& tokenizer);

} // namespace headwise::app
