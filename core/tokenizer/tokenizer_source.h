#pragma once

#include "core/base/result.h"
#include "core/tokenizer/tokenizer_file.h"

#include <filesystem>
#include <string>

namespace headwise {

/// Reads a tokenizer of any kind from a file, whose content decides its kind, or from a folder, in which the first of
/// these counts: tokenizer.json; vocab.json with merges.txt; tokenizer.model, then spiece.model (SentencePiece or
/// tiktoken's ranks); vocab.txt (BERT); tokenizer.bin (llama2.c).
///
/// From a GGUF file it reads the vocabulary inside. The path may name either of vocab.json and merges.txt.
/// Errors: as Tokenizer::open; NotFound, listing the names that were tried.
Result<TokenizerFile> readTokenizerSource(const std::filesystem::path& path);

/// Returns the name under which a folder must contain this file: its own name if that is one of these, otherwise the one
/// its content asks for. Empty for a GGUF file, whose vocabulary is inside it.
/// Errors: those of opening it; Unsupported if it is not a tokenizer.
Result<std::string> tokenizerFileName(const std::filesystem::path& path);

} // namespace headwise
