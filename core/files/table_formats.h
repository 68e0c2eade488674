#pragma once

#include "core/files/delimited.h"

#include <string>

namespace headwise {

/// Writes a `tabular` with booktabs rules. Numbers have three significant digits (whole ones all of theirs) and are
/// right-aligned. Text is escaped and has no ligatures; visible spaces become \textvisiblespace.
/// \param comment the origin of the numbers; written above the table, each line behind a %
std::string latexText(const Table& table, const std::string& comment);

/// Writes a table as GitHub and Pandoc read it, with numbers as in latexText().
std::string markdownText(const Table& table);

/// Writes the table as a NumPy file, format 3.0, one record per row. A column of whole numbers is <i8, of other numbers
/// <f8 (an empty cell is NaN), anything else text. Repeated column names are numbered.
std::string npyText(const Table& table);

} // namespace headwise
