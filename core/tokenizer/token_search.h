#pragma once

#include "core/base/result.h"
#include "core/base/task.h"

#include <optional>
#include <string_view>
#include <vector>

namespace headwise {

class Tokenizer;

/// The id a person names: Tokenizer::find, or without a tokenizer #ID alone.
/// Errors: those of Tokenizer::find; NotFound for a text without a tokenizer.
Result<int> tokenNamed(std::string_view text, const Tokenizer* tokenizer);

/// The first `limit` ids a person may mean by `query`: the one it names exactly, then those whose shown or raw text
/// begins with it, then those that contain it; each by rising id, ASCII letters compared without case.
/// Cost: once through the vocabulary.
std::vector<int> searchTokens(const Tokenizer& tokenizer, std::string_view query, int limit);

/// The regular expression of a query between slashes, "/^␣un/" → "^␣un"; nothing of any other.
std::optional<std::string_view> patternIn(std::string_view query);

/// The first `limit` ids whose shown or raw text the pattern matches somewhere, by rising id; PCRE2's syntax, case counts.
/// Errors: InvalidArgument if the pattern does not compile, saying where, or takes too many steps on some token; Cancelled.
/// Cost: once through the vocabulary.
Result<std::vector<int>> matchingTokens(const Tokenizer& tokenizer, std::string_view pattern, int limit,
                                        const Task& task);

/// Up to `count` tokens that are whole words (a space and at least three ASCII letters), by rising id: a sample to look at.
std::vector<int> sampleOfWords(const Tokenizer& tokenizer, int count);

} // namespace headwise
