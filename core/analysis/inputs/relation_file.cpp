#include "core/analysis/inputs/relation_file.h"

#include "core/files/csv_rows.h"
#include "core/files/json.h"

#include <nlohmann/json.hpp>
#include <spdlog/fmt/fmt.h>

#include <set>
#include <utility>

namespace headwise {

namespace {

using nlohmann::json;

constexpr std::size_t largestRelationFile = 16u << 20;
constexpr std::size_t longestRelationWord = 200; // bytes
constexpr std::string_view forms =
    "expected [[source, target], …], {\"name\": …, \"pairs\": [[source, target], …]} or an array of such objects";

std::string relationNameOf(const std::filesystem::path& file)
{
    return file.stem().string();
}

Error wrongRelation(const std::filesystem::path& file, std::string_view what)
{
    return {ErrorCode::Corrupt, fmt::format("Relation file '{}': {}.", file.filename().string(), what)};
}

/// Returns the fault of a word, or an empty string if it is valid.
std::string faultOfRelationWord(const std::string& word)
{
    if (word.find_first_not_of(" \t\r\n") == std::string::npos)
        return "an empty word";
    if (word.size() > longestRelationWord)
        return fmt::format("a word of {} bytes, more than {}", word.size(), longestRelationWord);
    if (word.find('\0') != std::string::npos)
        return "a word that contains a NUL";
    return {};
}

std::string lowerRelationHeader(std::string text)
{
    for (char& c : text)
        c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return text;
}

bool isRelationFileHeader(const std::vector<std::string>& fields)
{
    return lowerRelationHeader(fields[0]) == "source" && lowerRelationHeader(fields[1]) == "target";
}

/// \param where "pair 3 of 'capitals'"
Result<std::pair<std::string, std::string>> pairFrom(const json& value, const std::string& where,
                                                     const std::filesystem::path& file)
{
    if (!value.is_array() || value.size() != 2 || !value[0].is_string() || !value[1].is_string())
        return wrongRelation(file, where + " is not an array of two strings");
    std::pair<std::string, std::string> pair(value[0].get<std::string>(), value[1].get<std::string>());
    for (const std::string& word : {pair.first, pair.second}) {
        if (const std::string fault = faultOfRelationWord(word); !fault.empty())
            return wrongRelation(file, fmt::format("{} has {}", where, fault));
    }
    return pair;
}

Result<Relation> relationFrom(std::string name, const json& pairs, const std::filesystem::path& file)
{
    if (!pairs.is_array() || pairs.empty())
        return wrongRelation(file, fmt::format("'{}' has no pairs; {}", name, forms));
    Relation relation{std::move(name), {}};
    for (const json& value : pairs) {
        auto pair =
            pairFrom(value, fmt::format("pair {} of '{}'", relation.pairs.size() + 1, relation.name), file);
        if (!pair)
            return pair.error();
        relation.pairs.push_back(std::move(pair).value());
    }
    return relation;
}

Result<Relation> relationFrom(const json& object, const std::filesystem::path& file)
{
    if (!object.contains("pairs"))
        return wrongRelation(file, fmt::format("an object has no \"pairs\"; {}", forms));
    std::string name = relationNameOf(file);
    if (object.contains("name")) {
        if (!object["name"].is_string())
            return wrongRelation(file, "a \"name\" is not a string");
        name = object["name"].get<std::string>();
    }
    if (const std::string fault = faultOfRelationWord(name); !fault.empty())
        return wrongRelation(file, "a \"name\" is " + fault);
    return relationFrom(std::move(name), object["pairs"], file);
}

} // namespace

Result<std::vector<Relation>> relationsFromCsv(std::string_view text, const std::filesystem::path& file)
{
    const auto rows = csvRows(text, fmt::format("Relation file '{}'", file.filename().string()));
    if (!rows)
        return rows.error();
    Relation relation{relationNameOf(file), {}};
    bool isFirst = true;
    for (const DelimitedRow& row : *rows) {
        if (row.fields.size() != 2)
            return wrongRelation(file,
                                 fmt::format("line {} has {} column{}, expected two: source,target", row.line,
                                             row.fields.size(), row.fields.size() == 1 ? "" : "s"));
        if (std::exchange(isFirst, false) && isRelationFileHeader(row.fields))
            continue;
        for (const std::string& word : row.fields) {
            if (const std::string fault = faultOfRelationWord(word); !fault.empty())
                return wrongRelation(file, fmt::format("line {} has {}", row.line, fault));
        }
        relation.pairs.emplace_back(row.fields[0], row.fields[1]);
    }
    if (relation.pairs.empty())
        return wrongRelation(file, "it has no pairs; write one line source,target for each");
    return std::vector<Relation>{std::move(relation)};
}

Result<std::vector<Relation>> relationsFromJson(std::string_view text, const std::filesystem::path& file)
{
    const Result<json> root = parseJson(text, file.filename().string());
    if (!root)
        return root.error();
    std::vector<Relation> relations;
    const bool isList = root->is_array() && !root->empty() && root->front().is_object();
    if (!isList) {
        auto one =
            root->is_object() ? relationFrom(*root, file) : relationFrom(relationNameOf(file), *root, file);
        if (!one)
            return one.error();
        relations.push_back(std::move(one).value());
        return relations;
    }
    std::set<std::string> names;
    for (const json& value : *root) {
        if (!value.is_object())
            return wrongRelation(
                file, fmt::format("relation {} is not an object; {}", relations.size() + 1, forms));
        auto relation = relationFrom(value, file);
        if (!relation)
            return relation.error();
        if (!names.insert(relation->name).second)
            return wrongRelation(file, fmt::format("there are two relations named '{}'", relation->name));
        relations.push_back(std::move(relation).value());
    }
    return relations;
}

Result<std::vector<Relation>> readRelations(const std::filesystem::path& path)
{
    const auto text = readTextFile(path, largestRelationFile);
    if (!text)
        return text.error();
    return lowerRelationHeader(path.extension().string()) == ".json" ? relationsFromJson(*text, path)
                                                                     : relationsFromCsv(*text, path);
}

} // namespace headwise
