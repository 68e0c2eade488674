#pragma once

#include "core/base/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headwise {

/// SentencePiece's precompiled_charsmap, which maps strings of a text to replacements.
///
/// A double-array trie of 32-bit units, whose leaves point into a block of strings that end with a zero byte.
/// Source: sentencepiece `normalizer.cc`; Darts-clone `darts.h`, DoubleArrayUnit.
class CharacterMap {
public:
    CharacterMap() = default; ///< Changes nothing.

    /// Errors: Corrupt if its parts do not fit together; the sentence does not name the file.
    static Result<CharacterMap> create(std::string_view bytes);

    /// Replaces, at every position, the longest string in the map, as SentencePiece does.
    std::string normalized(std::string_view text) const;

    /// Replaces as the Hugging Face library does: a grapheme below 6 bytes as a whole by the shortest string it begins
    /// with, else character by character.
    std::string normalizedByGrapheme(std::string_view text) const;

private:
    struct Found {
        std::string_view by;
        std::size_t length; // bytes of the text
    };
    enum class Prefer { Longest, Shortest };
    std::optional<Found> find(std::string_view text, Prefer prefer) const;
    void appendGrapheme(std::string_view grapheme, std::string& out) const;

    std::vector<std::uint32_t> m_units;
    std::string m_strings;
};

} // namespace headwise
