#pragma once

#include "core/base/result.h"
#include "core/tokenizer/token_pattern.h"
#include "core/tokenizer/tokenizer_file.h"

#include <string>
#include <vector>

namespace headwise {

/// A part of a text that is encoded on its own.
struct TextPiece {
    std::string text;
    bool startsText = false; ///< Nothing came before it: no text and no added token.
};

/// Splits text into the pieces that no token crosses.
class PreTokenizer {
public:
    /// Errors: Corrupt or Unsupported if a pattern does not compile; the sentence does not name the file.
    static Result<PreTokenizer> create(const std::vector<PreTokenizerStep>& steps);

    /// \param text well-formed UTF-8, normalized
    /// \returns   no empty pieces
    /// Errors: Corrupt if a pattern exceeds its limits.
    Result<std::vector<TextPiece>> pieces(TextPiece text) const;

private:
    struct Step {
        PreTokenizerStep step;
        TokenPattern pattern;
    };
    PreTokenizer() = default;
    static Result<std::vector<TextPiece>> pieces(const Step& step, TextPiece text);

    std::vector<Step> m_steps;
};

} // namespace headwise
