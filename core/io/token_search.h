#pragma once

#include "core/base/result.h"

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

/// Up to `count` tokens that are whole words (a space and at least three ASCII letters), by rising id: a sample to look at.
std::vector<int> sampleOfWords(const Tokenizer& tokenizer, int count);

} // namespace headwise
