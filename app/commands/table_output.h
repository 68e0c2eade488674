#pragma once

#include <CLI/CLI.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headwise::app {

/// How a command prints its table on stdout.
enum class TableFormat {
    Text, ///< Aligned columns, for people.
    Csv,  ///< RFC 4180.
    Json, ///< A list of objects, one per row, with the names of the columns as keys.
};

struct TableColumn {
    std::string_view name;
    int width = 0; ///< In text; to the right if above 0, else to the left.
    bool isNumber = false;
};

/// Adds --csv and --json. \param header names of the columns, with commas
void addTableFormat(CLI::App& command, TableFormat& format, std::string_view header);

/// \param rows each as long as `columns`; numbers as shortestText() writes them
void printTable(std::span<const TableColumn> columns, const std::vector<std::vector<std::string>>& rows,
                TableFormat format);

} // namespace headwise::app
