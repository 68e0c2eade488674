#pragma once

#include "core/files/delimited.h"

namespace headwise::test {

/// Reads the output of delimitedText, without the apostrophes that protect its cells in a spreadsheet.
/// Errors: Corrupt, naming the line (a row of another length, an unterminated quote, no header).
inline Result<Table> readDelimited(std::string_view text, Delimiter delimiter)
{
    const auto rows = delimitedRows(text, delimiter);
    if (!rows)
        return rows.error();
    if (rows->empty())
        return Error{ErrorCode::Corrupt, "The table has no header line."};
    Table table;
    for (DelimitedRow row : *rows) {
        if (row.fields.size() != rows->front().fields.size())
            return Error{ErrorCode::Corrupt, "Line " + std::to_string(row.line) + " has another length."};
        for (std::string& cell : row.fields) {
            const auto sign = cell.find_first_not_of('\'');
            if (sign != std::string::npos && sign > 0
                && std::string_view("=+-@").find(cell[sign]) != std::string_view::npos)
                cell.erase(0, 1);
        }
        (table.columns.empty() ? table.columns : table.rows.emplace_back()) = std::move(row.fields);
    }
    return table;
}

} // namespace headwise::test
