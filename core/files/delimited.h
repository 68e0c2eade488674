#pragma once

#include "core/base/result.h"

#include <string>
#include <string_view>
#include <vector>

namespace headwise {

/// A header and rows of text: the content of a CSV or TSV file.
struct Table {
    std::vector<std::string> columns;
    std::vector<std::vector<std::string>> rows; // each as long as `columns`

    bool operator==(const Table&) const = default;
};

enum class Delimiter { Comma, Tab };

/// Writes RFC 4180: lines end with CRLF; a field with a delimiter, quote or line end is quoted. With tabs, lines end with
/// LF.
std::string delimitedText(const Table& table, Delimiter delimiter);
/// Writes one line of that.
std::string delimitedLine(const std::vector<std::string>& fields, Delimiter delimiter);

/// One row and the number of the line in which it begins, counted from 1.
struct DelimitedRow {
    int line = 1;
    std::vector<std::string> fields;
};

/// Reads rows of any length, without a header. An empty line is a row of one empty field.
/// Errors: Corrupt, naming the line (an unterminated quote, text after a quoted field).
Result<std::vector<DelimitedRow>> delimitedRows(std::string_view text, Delimiter delimiter);

} // namespace headwise
