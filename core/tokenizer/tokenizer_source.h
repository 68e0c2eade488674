#pragma once

#include "core/base/result.h"
#include "core/tokenizer/tokenizer_file.h"

#include <filesystem>
#include <string>

namespace headwise {

/// Reads a tokenizer of any kind from a file, whose kind its content decides, or from a folder, where the first of these counts:
/// tokenizer.json; vocab.json with merges.txt; tokenizer.model, then spiece.model (SentencePiece or tiktoken's ranks);
/// vocab.txt (BERT); tokenizer.bin (llama2.c).
///
/// A GGUF file gives the vocabulary inside it. Either of vocab.json and merges.txt may be named.
/// Errors: as Tokenizer::open; NotFound naming what was looked for.
Result<TokenizerFile> readTokenizerSource(const std::filesystem::path& path);

/// The name under which such a file is found in a folder: its own where that is one of these, otherwise what its content says.
/// Empty of a GGUF file, whose vocabulary is inside it.
/// Errors: those of opening it; Unsupported if it is no tokenizer.
Result<std::string> tokenizerFileName(const std::filesystem::path& path);

} // namespace headwise
