#pragma once

#include "core/analysis/result_set.h"
#include "core/base/result.h"

#include <filesystem>
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

/// The shortest decimal that reads back as the same number, with a point whatever the locale; "nan", "inf", "-inf".
std::string shortestText(float value);
std::string shortestText(double value);

/// RFC 4180: lines end with CRLF, a field with a delimiter, quote or line end is quoted. With tabs lines end with LF.
std::string delimitedText(const Table& table, Delimiter delimiter);

/// Reads what delimitedText writes, and CSV with bare LF.
/// Errors: Corrupt, naming the line (a row of another length, a quote that does not end, no header).
Result<Table> parseDelimited(std::string_view text, Delimiter delimiter);

/// One row per number: an index per axis, then "value", or "real" and "imaginary".
Table tableOf(const ResultArray& array);

/// The array a table of tableOf came from, as f64 or complex128, row-major; path, definition and the like are empty.
/// Errors: Corrupt, naming the line (no number, an index out of order).
Result<ResultArray> arrayOf(const Table& table);

/// The array as a NumPy file, format 1.0, little-endian, C order.
std::string npyBytes(const std::vector<std::size_t>& shape, const ResultArray::Values& values);

} // namespace headwise
