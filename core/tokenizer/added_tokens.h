#pragma once

#include "core/base/result.h"
#include "core/tokenizer/token_pattern.h"
#include "core/tokenizer/tokenizer.h"
#include "core/tokenizer/tokenizer_file.h"

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace headwise {

/// Finds added tokens in a text: the leftmost first, and among those that begin there the longest.
class AddedTokenMatcher {
public:
    struct Part {
        std::string_view text; ///< of the given text, with the white space that a token strips around it
        int id;                ///< the token's id, or plainText
    };
    static constexpr int plainText = -1;

    AddedTokenMatcher();

    /// \param content the text to look for: the token's text, normalized if it is matched in normalized text
    void add(const AddedToken& token, const std::string& content);

    /// \param text well-formed UTF-8
    std::vector<Part> split(std::string_view text, Tokenizer::SpecialText specialText) const;

private:
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
    };
    struct Found {
        const AddedToken* token; ///< null if none begins here
        std::size_t length;      // bytes
    };
    Found longestAt(std::string_view text, std::size_t position, Tokenizer::SpecialText specialText) const;
    bool touchesWord(std::string_view text, std::size_t begin, std::size_t end) const;

    std::unordered_map<std::string, AddedToken, Hash, std::equal_to<>> m_tokens; ///< by content
    // lengths of the contents that begin with this byte, longest first
    std::array<std::vector<std::size_t>, 256> m_lengths;
    TokenPattern m_wordCharacter;
};

} // namespace headwise
