#pragma once

#include "core/files/delimited.h"

#include <string>

namespace headwise {

/// A `tabular` with the rules of the package booktabs. Numbers have three significant digits, whole ones all theirs, and stand
/// on the right; text is escaped and has no ligatures, visible spaces are \textvisiblespace.
/// \param comment goes before it, each line behind a %: where the numbers come from
std::string latexText(const Table& table, const std::string& comment);

/// A table as GitHub and Pandoc read it, numbers as in latexText().
std::string markdownText(const Table& table);

/// The table as a NumPy file, format 3.0, one record per row: a column of whole numbers is <i8, of numbers <f8 (an empty cell
/// is NaN), any other text. Names that stand there twice are numbered.
std::string npyText(const Table& table);

} // namespace headwise
