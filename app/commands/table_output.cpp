#include "app/commands/table_output.h"

#include "app/commands/support.h"
#include "core/files/delimited.h"

#include <nlohmann/json.hpp>
#include <spdlog/fmt/fmt.h>

#include <cstdlib>
#include <iostream>

namespace headwise::app {
namespace {

nlohmann::ordered_json jsonNumber(const std::string& text)
{
    // Shortest decimals of float32 stay short: JSON has no other numbers than decimals.
    auto value = nlohmann::ordered_json::parse(text, nullptr, false);
    return value.is_discarded() ? nlohmann::ordered_json() : value; // nan and inf
}

void printRows(std::span<const TableColumn> columns, const std::vector<std::vector<std::string>>& rows)
{
    const auto print = [&](const auto& textOf) {
        std::string line;
        for (std::size_t i = 0; i < columns.size(); ++i) {
            const int width = columns[i].width;
            line += (i == 0 ? "" : " ")
                + (width > 0 ? fmt::format("{:>{}}", textOf(i), width)
                             : fmt::format("{:<{}}", textOf(i), -width));
        }
        std::cout << line << '\n';
    };
    print([&](std::size_t i) { return columns[i].name; });
    for (const std::vector<std::string>& row : rows)
        print([&](std::size_t i) { return std::string_view(row[i]); });
}

} // namespace

void addTableFormat(CLI::App& command, TableFormat& format, std::string_view header)
{
    CLI::Option* csv = command.add_flag_callback(
        "--csv", [&format] { format = TableFormat::Csv; },
        fmt::format("RFC 4180 with the header {}", header));
    command
        .add_flag_callback(
            "--json", [&format] { format = TableFormat::Json; },
            "A JSON list of objects with the same names as keys")
        ->excludes(csv);
}

void printTable(std::span<const TableColumn> columns, const std::vector<std::vector<std::string>>& rows,
                TableFormat format)
{
    if (format == TableFormat::Text)
        return printRows(columns, rows);
    if (format == TableFormat::Csv) {
        Table table{{}, rows};
        for (const TableColumn& column : columns)
            table.columns.emplace_back(column.name);
        std::cout << delimitedText(table, Delimiter::Comma);
        return;
    }
    auto list = nlohmann::ordered_json::array();
    for (const std::vector<std::string>& row : rows) {
        nlohmann::ordered_json object;
        for (std::size_t i = 0; i < columns.size(); ++i)
            object[std::string(columns[i].name)] =
                columns[i].isNumber ? jsonNumber(row[i]) : nlohmann::ordered_json(row[i]);
        list.push_back(std::move(object));
    }
    printJson(list);
}

} // namespace headwise::app
