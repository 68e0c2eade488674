#pragma once

#include "core/base/result.h"
#include "core/tokenizer/tokenizer_file.h"

#include <filesystem>
#include <string_view>

namespace headwise {

/// Tells whether a text is tiktoken's: lines with a base64 token and its rank.
bool isTiktoken(std::string_view text);

/// Reads tiktoken's ranks (the tokenizer.model of Meta's Llama 3, *.tiktoken). The neighbouring pair that makes the token
/// of the lowest rank is merged first.
///
/// The file has neither the split pattern nor special tokens. Both follow from the number of ranks for GPT-2, p50k,
/// cl100k, o200k and Llama 3; other vocabularies can be shown but not encode.
/// Errors: Corrupt naming the file and the line.
/// Source: tiktoken `load.py`, `tiktoken_ext/openai_public.py`; llama3 `tokenizer.py`.
Result<TokenizerFile> readTiktoken(std::string_view text, const std::filesystem::path& path);

/// Reads BERT's vocab.txt: a token per line, whose number is the id. Texts become WordPiece between [CLS] and [SEP].
/// \param lowercase do_lower_case of the tokenizer_config.json beside it, true without one
/// Errors: Corrupt naming the file if [UNK] is missing.
Result<TokenizerFile> readVocabularyText(std::string_view text, const std::filesystem::path& path,
                                         bool lowercase);

} // namespace headwise
