#pragma once

#include "core/base/result.h"
#include "core/tokenizer/tokenizer_file.h"

#include <filesystem>
#include <optional>
#include <string_view>

namespace headwise {

/// The choices in a tokenizer_config.json beside a vocabulary; nothing where it makes none.
struct SpecialTokenChoice {
    std::optional<bool> addBos, addEos;
};

/// Tells whether a file begins as a SentencePiece model does: with a piece.
bool isSentencePiece(std::string_view file);

/// Reads a SentencePiece model (tokenizer.model, spiece.model), a protobuf message.
///
/// By default, a text begins with the model's BOS under BPE (Llama, Gemma) and with nothing under Unigram (T5). We do not
/// link libsentencepiece: versions below 0.2.1, Debian 12's among them, crash on damaged character maps, and it cannot
/// read the same vocabulary from a tokenizer.json or a GGUF. Tests compare with it.
/// Errors: Corrupt naming the file.
/// Source: sentencepiece `sentencepiece_model.proto`.
Result<TokenizerFile> readSentencePiece(std::string_view content, const std::filesystem::path& path,
                                        const SpecialTokenChoice& choice);

/// Recognises llama2.c's tokenizer.bin by its length and counts.
bool isLlama2cTokenizer(std::string_view file);

/// Reads llama2.c's tokenizer.bin: a score and a text per token. 0 is the unknown token, 1 begins and 2 ends a text, then
/// come the bytes.
/// Errors: Corrupt naming the file.
/// Source: llama2.c `tokenizer.py`, Tokenizer.export.
Result<TokenizerFile> readLlama2cTokenizer(std::string_view content, const std::filesystem::path& path);

} // namespace headwise
