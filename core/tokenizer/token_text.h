#pragma once

#include <string>
#include <string_view>

namespace headwise {

/// The bytes of a token as people read them, everywhere: screen, CSV, JSON, HDF5.
///
/// ␣ (U+2423) for a leading or trailing space and for each space of a run; an inner single space stays.
/// ⏎ for a newline, ⇥ for a tab. <0xNN>, one per byte, for bytes that do not form UTF-8 and for C0, DEL,
/// C1 and bidirectional controls, so that no token can move the cursor, break a line or reorder its
/// neighbours. Everything else stays as it is. The result is always well-formed UTF-8.
/// Source: DESIGN §3, "A token as shown".
std::string shownToken(std::string_view rawBytes);

/// A special token's own text, verbatim except that controls are written as shownToken writes them.
std::string shownSpecialToken(std::string_view content);

/// "[unused 50300]", what an id without a token shows.
std::string shownUnused(int id);

} // namespace headwise
