#pragma once

#include "core/analysis/inputs/relation.h"
#include "core/base/result.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace headwise {

/// Reads relations from a file: *.json as JSON, everything else as CSV (RFC 4180, UTF-8).
///
/// CSV: two columns, source and target. A first line "source,target" is a header; empty lines are ignored.
/// JSON: an array of pairs [["France", "Paris"], …]; an object {"name": …, "pairs": [[…], …]}; or an array of such objects.
/// A relation without a name gets the name of the file, without its extension.
/// Errors: NotFound, Io; Unsupported beyond 16 MiB; Corrupt naming the file and the line or the pair (a wrong number
/// of columns, an empty word, one longer than 200 bytes, no pairs, a name given twice, text that is not UTF-8).
Result<std::vector<Relation>> readRelations(const std::filesystem::path& path);

/// Reads relations from text. \param file the name to use in messages
Result<std::vector<Relation>> relationsFromCsv(std::string_view text, const std::filesystem::path& file);
Result<std::vector<Relation>> relationsFromJson(std::string_view text, const std::filesystem::path& file);

} // namespace headwise
