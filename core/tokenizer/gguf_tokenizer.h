#pragma once

#include "core/base/result.h"
#include "core/checkpoint/gguf.h"
#include "core/tokenizer/tokenizer_file.h"

#include <filesystem>

namespace headwise {

/// The vocabulary a GGUF file brings along (tokenizer.ggml.*): SentencePiece's, merged or Unigram ("llama", "t5"), or
/// byte-level BPE ("gpt2") with the split that tokenizer.ggml.pre names.
///
/// Other kinds, and splits we do not know, are shown and do not encode.
/// Errors: NotFound if it has none; Corrupt naming the file for lists that do not fit together.
/// Source: ggml `docs/gguf.md`, llama.cpp `llama-vocab.cpp`.
Result<TokenizerFile> readGgufTokenizer(const GgufHeader& header, const std::filesystem::path& path);

} // namespace headwise
