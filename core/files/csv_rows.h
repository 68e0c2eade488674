#pragma once

#include "core/files/delimited.h"

namespace headwise {

/// The rows of a whole CSV file but its empty lines; a byte order mark is passed over.
/// \param file what messages call it: "Relation file 'pairs.csv'"
/// Errors: Corrupt, naming the line (no UTF-8; those of delimitedRows).
Result<std::vector<DelimitedRow>> csvRows(std::string_view text, std::string_view file);

} // namespace headwise
