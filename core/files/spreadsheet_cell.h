#pragma once

#include <string>
#include <string_view>

namespace headwise {

/// Protects a cell of a CSV or TSV file from being computed. A spreadsheet treats text that begins with =, +, - or @ as a
/// formula, and tokens come from strangers. Such text gets an apostrophe in front. Text of apostrophes before one of the
/// four gets one more, so that the first can be removed again. Numbers stay as they are.
std::string spreadsheetCell(std::string_view text);

} // namespace headwise
