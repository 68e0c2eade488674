#include "core/files/csv_rows.h"

#include "core/files/utf8.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <utility>

namespace headwise {

Result<std::vector<DelimitedRow>> csvRows(std::string_view text, std::string_view file)
{
    if (text.starts_with("\xEF\xBB\xBF"))
        text.remove_prefix(3);
    if (const auto bad = firstInvalidUtf8(text)) {
        const auto line =
            std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(*bad), '\n') + 1;
        return Error{ErrorCode::Corrupt, fmt::format("{}: line {} is not UTF-8.", file, line)};
    }
    auto read = delimitedRows(text, Delimiter::Comma);
    if (!read)
        return Error{read.error().code, fmt::format("{}: {}", file, read.error().message)};
    std::vector<DelimitedRow> rows = std::move(read).value();
    std::erase_if(rows,
                  [](const DelimitedRow& row) { return row.fields.size() == 1 && row.fields[0].empty(); });
    return rows;
}

} // namespace headwise
