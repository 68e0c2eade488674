#pragma once

#include "core/base/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headwise {

/// SentencePiece's precompiled_charsmap: which strings of a text are replaced by which.
///
/// A double-array trie of 32-bit units, whose leaves point into a block of strings that end with a zero byte.
/// Source: sentencepiece `normalizer.cc`; Darts-clone `darts.h`, DoubleArrayUnit.
class CharacterMap {
public:
    CharacterMap() = default; ///< Changes nothing.

    /// Errors: Corrupt if its parts do not fit together; the sentence lacks the file.
    static Result<CharacterMap> create(std::string_view bytes);

    /// At every position the longest string the map knows is replaced, as SentencePiece does.
    std::string normalized(std::string_view text) const;

    /// As the Hugging Face library does: a grapheme below 6 bytes as a whole by the shortest string it begins with, else
    /// its characters one by one.
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
