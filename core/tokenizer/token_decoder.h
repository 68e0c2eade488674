#pragma once

#include "core/base/result.h"
#include "core/tokenizer/token_pattern.h"
#include "core/tokenizer/tokenizer_file.h"

#include <string>
#include <string_view>
#include <vector>

namespace headwise {

/// Returns the character for a byte in GPT-2's byte-level alphabet, in which a vocabulary of bytes can be written as
/// text. Printable bytes stand for themselves, the 68 others are U+0100, U+0101, … in order.
/// Source: Radford et al. 2019, encoder.py, bytes_to_unicode.
char32_t byteLevelCharacter(unsigned char byte);

/// Spells bytes in that alphabet.
std::string byteLevelText(std::string_view bytes);

/// Turns a token's spelling in the vocabulary into its bytes, and a sequence of tokens into text.
class TokenDecoder {
public:
    struct Token {
        std::string text;   ///< as the vocabulary spells it
        bool added = false; ///< An added token stands for its own text.
    };

    /// Errors: Corrupt or Unsupported naming the file if a pattern does not compile.
    static Result<TokenDecoder> create(const TokenizerFile& file);

    /// Returns the bytes of a token that is not the first of a text. \param spelling not of an added token
    std::string bytes(std::string_view spelling) const;

    /// Errors: none; a step whose pattern exceeds its limits is skipped.
    std::string text(std::vector<Token> tokens) const;

private:
    struct Step {
        DecoderStep step;
        TokenPattern pattern;
    };
    TokenDecoder() = default;

    std::vector<Step> m_steps;
};

} // namespace headwise
