#pragma once

#include <string>
#include <string_view>

namespace headwise {

/// A cell of a CSV or TSV file as a spreadsheet shows it, never as one computes it: text that begins with =, +, - or @ is a
/// formula there, and tokens come from strangers. Such text gets an apostrophe before it; text of apostrophes before one of the
/// four gets one more, so that the first of them can be taken off again. Numbers stay as they are.
std::string spreadsheetCell(std::string_view text);

/// Takes the apostrophe of spreadsheetCell() off again.
std::string_view plainCell(std::string_view cell);

} // namespace headwise
