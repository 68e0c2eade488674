#include "core/files/spreadsheet_cell.h"

#include <charconv>
#include <system_error>

namespace headwise {

namespace {

bool isNumber(std::string_view text)
{
    double value = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
    return read.ptr == text.data() + text.size() && read.ec != std::errc::invalid_argument;
}

/// Tells whether the text, after any leading apostrophes, begins with a formula sign.
bool beginsFormula(std::string_view text)
{
    const auto first = text.find_first_not_of('\'');
    return first != std::string_view::npos
        && std::string_view("=+-@").find(text[first]) != std::string_view::npos;
}

} // namespace

std::string spreadsheetCell(std::string_view text)
{
    return beginsFormula(text) && !isNumber(text) ? "'" + std::string(text) : std::string(text);
}

} // namespace headwise
