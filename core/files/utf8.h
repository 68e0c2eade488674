#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace headwise {

/// One step through text that may not be UTF-8: a code point, or the bytes that form none.
struct Utf8Step {
    char32_t codePoint = 0; ///< Meaningless unless `valid`.
    std::size_t length = 0; ///< Bytes, at least 1. Of an ill-formed sequence: its maximal subpart.
    bool valid = false;     ///< Overlong forms, surrogates and values past U+10FFFF are not.
};

/// \param position below text.size()
/// Source: The Unicode Standard, table 3-7 and "U+FFFD Substitution of Maximal Subparts" (section 3.9).
Utf8Step utf8StepAt(std::string_view text, std::size_t position);

void appendUtf8(std::string& text, char32_t codePoint);

/// Byte offset of the first byte that is not part of a well-formed sequence; nothing if all are.
std::optional<std::size_t> firstInvalidUtf8(std::string_view text);

/// The text with one U+FFFD for each maximal ill-formed subpart, as decoders of other programs write it.
std::string withReplacementCharacters(std::string_view text);

} // namespace headwise
