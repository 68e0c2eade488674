#pragma once

#include "core/base/result.h"
#include "core/base/task.h"

#include <optional>
#include <string_view>
#include <vector>

namespace headwise {

class Tokenizer;

/// Returns the id that the user names: as Tokenizer::find, or without a tokenizer only #ID.
/// Errors: those of Tokenizer::find; NotFound for a text without a tokenizer.
Result<int> tokenNamed(std::string_view text, const Tokenizer* tokenizer);

/// Returns the ids of a prompt: the text as the tokenizer encodes it. Without a tokenizer (null), the ids that the prompt
/// lists, separated by spaces or commas, each with or without #: "3 5 112", "#3, #5".
/// \param dVocab   the number of ids of the model
/// Errors: those of Tokenizer::encode; without a tokenizer, InvalidArgument naming the word that is not an id below dVocab.
Result<std::vector<int>> promptTokens(std::string_view prompt, const Tokenizer* tokenizer, int dVocab);

/// True for each id below `count` without a token.
std::vector<bool> unusedIds(const Tokenizer& tokenizer, int count);

/// Returns the first `limit` ids that the user may mean by `query`: the one it names exactly, then those whose shown or
/// raw text begins with it, then those that contain it. Each group is sorted by id; ASCII letters are compared without
/// case.
/// Cost: one pass over the vocabulary.
std::vector<int> searchTokens(const Tokenizer& tokenizer, std::string_view query, int limit);

/// Returns the tokens that a text is made of if it is not a single token: " Parisian" → ␣Paris, ian. A ␣ counts as a space.
/// Empty for a single token, a text that the tokenizer cannot encode, and one of more than 200 bytes.
std::vector<int> piecesOf(const Tokenizer& tokenizer, std::string_view query);

/// Returns the regular expression of a query between slashes, "/^␣un/" → "^␣un"; nothing for any other query.
std::optional<std::string_view> patternIn(std::string_view query);

/// Returns the first `limit` ids whose shown or raw text the pattern matches somewhere, by rising id. The syntax is
/// PCRE2's, case matters.
/// Errors: InvalidArgument if the pattern does not compile (with the position) or takes too many steps on some token;
/// Cancelled.
/// Cost: one pass over the vocabulary.
Result<std::vector<int>> matchingTokens(const Tokenizer& tokenizer, std::string_view pattern, int limit,
                                        const Task& task);

/// Returns up to `count` tokens that are whole words (a space and at least three ASCII letters), by rising id, as a
/// sample.
std::vector<int> sampleOfWords(const Tokenizer& tokenizer, int count);

} // namespace headwise
