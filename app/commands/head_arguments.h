#pragma once

#include "app/commands/model_arguments.h"
#include "core/analysis/catalogue.h"
#include "core/io/tokenizer.h"

#include <optional>
#include <string>
#include <vector>

namespace headwise::app {

/// The heads that "0.1,2.*,L3H4" names in a model, in order, each once; a star stands for every layer or head.
/// Errors: InvalidArgument naming the part that is no head, or the head this model does not have.
Result<std::vector<HeadId>> parseHeads(const std::string& text, int nLayers, int nHeads);

/// "full-ov" or "full-qk".
std::optional<CircuitKind> parseFullCircuit(const std::string& name);

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
