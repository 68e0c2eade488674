#pragma once

#include "core/tokenizer/tokenizer_file.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace headwise {

/// A vocabulary in SentencePiece's terms, from any file: a tokenizer.model, a GGUF, llama2.c's tokenizer.bin.
struct PieceVocabulary {
    enum class Kind { Normal = 1, Unknown, Control, UserDefined, Unused, Byte }; // as the files number them
    struct Piece {
        std::string text; ///< Contains ▁ (U+2581) for a space. Empty: this id has no token.
        double score = 0;
        Kind kind = Kind::Normal;
    };
    std::vector<Piece> pieces = {}; ///< By id.
    /// Otherwise BPE: the pair that makes the piece of the highest score is merged first.
    bool isUnigram = false;
    bool byteFallback = false;     ///< A character without a piece becomes its bytes.
    std::string characterMap = {}; ///< precompiled_charsmap
    bool addDummyPrefix = true;    ///< Adds a space before the text.
    /// Reduces runs of spaces to one and removes them at either end.
    bool removeExtraWhitespaces = false;
    bool escapeWhitespaces = true;                  ///< Turns spaces into ▁.
    std::optional<int> idBefore = {}, idAfter = {}; ///< Ids that encoding puts around a text.
};

/// Returns the same vocabulary as the tokenizer.json that Hugging Face's converter would write, with two differences: the
/// character map is applied as SentencePiece does it, and merges of equal score have equal rank.
/// Source: sentencepiece `bpe_model.cc`, `normalizer.cc`.
TokenizerFile tokenizerFileOf(PieceVocabulary vocabulary, std::filesystem::path path);

} // namespace headwise
