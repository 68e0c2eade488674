#pragma once

#include "core/base/result.h"
#include "core/checkpoint/gguf.h"
#include "core/tokenizer/tokenizer_file.h"

#include <filesystem>

namespace headwise {

/// Reads the vocabulary inside a GGUF file (tokenizer.ggml.*): SentencePiece's, BPE or Unigram ("llama", "t5"), or
/// byte-level BPE ("gpt2") with the split that tokenizer.ggml.pre names.
///
/// Vocabularies of other kinds or with unknown splits can show tokens but cannot encode text.
/// Errors: NotFound if it has none; Corrupt naming the file for lists that do not fit together.
/// Source: ggml `docs/gguf.md`, llama.cpp `llama-vocab.cpp`.
Result<TokenizerFile> readGgufTokenizer(const GgufHeader& header, const std::filesystem::path& path);

} // namespace headwise
