#pragma once

#include "core/base/result.h"

#include <string>
#include <string_view>
#include <vector>

namespace headwise {

/// Rows of text under a header; what a CSV or TSV file is.
struct Table {
    std::vector<std::string> columns;
    std::vector<std::vector<std::string>> rows; // each as long as `columns`

    bool operator==(const Table&) const = default;
};

enum class Delimiter { Comma, Tab };

/// RFC 4180: lines end with CRLF, a field with a delimiter, quote or line end is quoted. With tabs lines end with LF.
std::string delimitedText(const Table& table, Delimiter delimiter);

/// One row of such a text and the line, from 1 on, in which it begins.
struct DelimitedRow {
    int line = 1;
    std::vector<std::string> fields;
};

/// Rows of any length, the first as good as the others; an empty line is a row of one empty field.
/// Errors: Corrupt, naming the line (a quote that does not end, text behind a quoted field).
Result<std::vector<DelimitedRow>> delimitedRows(std::string_view text, Delimiter delimiter);

/// Reads what delimitedText writes, and CSV with bare LF.
/// Errors: Corrupt, naming the line (a row of another length, a quote that does not end, no header).
Result<Table> parseDelimited(std::string_view text, Delimiter delimiter);

} // namespace headwise
