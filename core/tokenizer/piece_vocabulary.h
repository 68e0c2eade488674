#pragma once

#include "core/tokenizer/tokenizer_file.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace headwise {

/// A vocabulary in SentencePiece's terms, whichever file it stands in: a tokenizer.model, a GGUF, llama2.c's tokenizer.bin.
struct PieceVocabulary {
    enum class Kind { Normal = 1, Unknown, Control, UserDefined, Unused, Byte }; // as the files number them
    struct Piece {
        std::string text; ///< With ▁ (U+2581) where a space is. Empty: this id is no token.
        double score = 0;
        Kind kind = Kind::Normal;
    };
    std::vector<Piece> pieces = {}; ///< By id.
    bool isUnigram = false;    ///< Else the pair that makes the piece of the highest score is merged first.
    bool byteFallback = false; ///< A character without a piece becomes its bytes.
    std::string characterMap = {};                  ///< precompiled_charsmap
    bool addDummyPrefix = true;                     ///< A space before the text.
    bool removeExtraWhitespaces = false;            ///< Runs of spaces become one, none at either end.
    bool escapeWhitespaces = true;                  ///< Spaces become ▁.
    std::optional<int> idBefore = {}, idAfter = {}; ///< Ids that encoding puts around a text.
};

/// The same vocabulary as the tokenizer.json that Hugging Face's converter would make of it, except that the character map is
/// applied as SentencePiece applies it and merges of one score have one rank.
/// Source: sentencepiece `bpe_model.cc`, `normalizer.cc`.
TokenizerFile tokenizerFileOf(PieceVocabulary vocabulary, std::filesystem::path path);

} // namespace headwise
