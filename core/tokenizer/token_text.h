#pragma once

#include <string>
#include <string_view>

namespace headwise {

/// Formats the bytes of a token for people, everywhere: screen, CSV, JSON, HDF5.
///
/// ␣ (U+2423) replaces a leading or trailing space and each space of a run; an inner single space stays. ⏎ is a newline,
/// ⇥ a tab. Bytes that do not form UTF-8, and C0, DEL, C1 and bidirectional controls, become <0xNN> byte by byte, so that
/// no token can move the cursor, break a line or reorder its neighbours. Everything else is unchanged. The result is
/// well-formed UTF-8.
/// Source: CONTRACTS.md §11.
std::string shownToken(std::string_view rawBytes);

/// Returns a special token's own text, with controls written as in shownToken.
std::string shownSpecialToken(std::string_view content);

/// Returns "#17", the text of any token without a tokenizer.
std::string shownId(int id);

/// Returns "[unused 50300]", the text of an id without a token.
std::string shownUnused(int id);

} // namespace headwise
