#pragma once

#include "core/files/delimited.h"

namespace headwise {

/// Returns the rows of a CSV file without its empty lines. A byte order mark is skipped.
/// \param file the file's name in messages: "Relation file 'pairs.csv'"
/// Errors: Corrupt, naming the line (not UTF-8; those of delimitedRows).
Result<std::vector<DelimitedRow>> csvRows(std::string_view text, std::string_view file);

} // namespace headwise
