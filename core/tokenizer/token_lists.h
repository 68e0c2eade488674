#pragma once

#include "core/base/result.h"
#include "core/tokenizer/tokenizer_file.h"

#include <filesystem>
#include <string_view>

namespace headwise {

/// Whether a text is tiktoken's: lines of a token in base64 and its rank.
bool isTiktoken(std::string_view text);

/// tiktoken's ranks (the tokenizer.model of Meta's Llama 3, *.tiktoken): of two neighbours, the pair that makes the token of the
/// lowest rank is merged first.
///
/// The file has neither the pattern that splits text nor special tokens; both follow from the number of ranks for GPT-2,
/// cl100k, o200k and Llama 3. Other vocabularies are shown and do not encode.
/// Errors: Corrupt naming the file and the line.
/// Source: tiktoken `load.py`, `tiktoken_ext/openai_public.py`; llama3 `tokenizer.py`.
Result<TokenizerFile> readTiktoken(std::string_view text, const std::filesystem::path& path);

/// BERT's vocab.txt: a token per line, its number the id. WordPiece between [CLS] and [SEP].
/// \param lowercase do_lower_case of the tokenizer_config.json beside it, true without one
/// Errors: Corrupt naming the file if [UNK] is missing.
Result<TokenizerFile> readVocabularyText(std::string_view text, const std::filesystem::path& path,
                                         bool lowercase);

} // namespace headwise
