#include "core/files/delimited.h"

#include "core/files/spreadsheet_cell.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace headwise {
namespace {

void appendField(std::string& text, const std::string& content, char delimiter)
{
    const std::string field = spreadsheetCell(content);
    const char special[] = {delimiter, '"', '\r', '\n', '\0'};
    if (field.find_first_of(special) == std::string::npos) {
        text += field;
        return;
    }
    text += '"';
    for (const char c : field)
        text.append(c == '"' ? 2 : 1, c);
    text += '"';
}

void appendRow(std::string& text, const std::vector<std::string>& delimitedRow, Delimiter delimiter)
{
    const char separator = delimiter == Delimiter::Comma ? ',' : '\t';
    for (std::size_t i = 0; i < delimitedRow.size(); ++i) {
        if (i > 0)
            text += separator;
        appendField(text, delimitedRow[i], separator);
    }
    if (delimitedRow.size() == 1 && delimitedRow[0].empty())
        text += "\"\""; // an empty line is not a row
    text += delimiter == Delimiter::Comma ? "\r\n" : "\n";
}

/// The position in the text.
struct Cursor {
    std::string_view text;
    char delimiter;
    std::size_t at = 0;
    int line = 1;

    bool atEnd() const { return at == text.size(); }
    bool take(char c)
    {
        if (atEnd() || text[at] != c)
            return false;
        ++at;
        line += c == '\n';
        return true;
    }
};

std::optional<std::string> quotedField(Cursor& cursor)
{
    std::string field;
    for (;;) {
        if (cursor.atEnd())
            return std::nullopt;
        const char c = cursor.text[cursor.at];
        cursor.take(c);
        if (c == '"' && !cursor.take('"'))
            return field;
        field += c;
    }
}

Result<std::vector<std::string>> delimitedRow(Cursor& cursor)
{
    std::vector<std::string> fields;
    for (;;) {
        if (cursor.take('"')) {
            const int line = cursor.line;
            auto field = quotedField(cursor);
            if (!field)
                return Error{ErrorCode::Corrupt,
                             "The quote in line " + std::to_string(line) + " does not end."};
            fields.push_back(std::move(*field));
        } else {
            const char stops[] = {cursor.delimiter, '\r', '\n', '\0'};
            const std::size_t end = std::min(cursor.text.find_first_of(stops, cursor.at), cursor.text.size());
            fields.emplace_back(cursor.text.substr(cursor.at, end - cursor.at));
            cursor.at = end;
        }
        if (cursor.take(cursor.delimiter))
            continue;
        cursor.take('\r');
        if (!cursor.take('\n') && !cursor.atEnd())
            return Error{ErrorCode::Corrupt,
                         "Line " + std::to_string(cursor.line) + " has text after the end of a field."};
        return fields;
    }
}

} // namespace

std::string delimitedLine(const std::vector<std::string>& fields, Delimiter delimiter)
{
    std::string text;
    appendRow(text, fields, delimiter);
    return text;
}

std::string delimitedText(const Table& table, Delimiter delimiter)
{
    std::string text;
    appendRow(text, table.columns, delimiter);
    for (const std::vector<std::string>& delimitedRow : table.rows)
        appendRow(text, delimitedRow, delimiter);
    return text;
}

Result<std::vector<DelimitedRow>> delimitedRows(std::string_view text, Delimiter delimiter)
{
    Cursor cursor{text, delimiter == Delimiter::Comma ? ',' : '\t'};
    std::vector<DelimitedRow> rows;
    while (!cursor.atEnd()) {
        const int line = cursor.line;
        Result<std::vector<std::string>> fields = delimitedRow(cursor);
        if (!fields)
            return fields.error();
        rows.push_back({line, std::move(fields).value()});
    }
    return rows;
}

} // namespace headwise
