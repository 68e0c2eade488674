#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace headwise {

/// One step through text that may not be UTF-8: a code point, or bytes that form none.
struct Utf8Step {
    char32_t codePoint = 0; ///< Meaningless unless `valid`.
    std::size_t length = 0; ///< Bytes, at least 1; for an ill-formed sequence, its maximal subpart.
    bool valid = false;     ///< False for overlong forms, surrogates and values past U+10FFFF.
};

/// \param position below text.size()
/// Source: The Unicode Standard, table 3-7 and "U+FFFD Substitution of Maximal Subparts" (section 3.9).
Utf8Step utf8StepAt(std::string_view text, std::size_t position);

void appendUtf8(std::string& text, char32_t codePoint);

/// Returns the offset of the first byte that is not part of a well-formed sequence; nothing if there is none.
std::optional<std::size_t> firstInvalidUtf8(std::string_view text);

/// Replaces each maximal ill-formed subpart with one U+FFFD, as other programs' decoders do.
std::string withReplacementCharacters(std::string_view text);

} // namespace headwise
