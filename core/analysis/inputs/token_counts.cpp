#include "core/analysis/inputs/token_counts.h"

#include "core/base/fingerprint.h"
#include "core/checkpoint/npy.h"
#include "core/files/csv_rows.h"
#include "core/files/json.h"
#include "core/tokenizer/token_search.h"

#include <nlohmann/json.hpp>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <optional>
#include <unordered_set>
#include <utility>

namespace headwise {

namespace {

using nlohmann::json;

constexpr std::size_t largestCountsFile = 32u << 20;
constexpr std::size_t longestCountedWord = 200; // bytes
constexpr double largestCount = 1e18;           // so that sums stay finite

std::string lowerCountsHeader(std::string text)
{
    for (char& c : text)
        c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return text;
}

std::string countsNameOf(const std::filesystem::path& file)
{
    return fmt::format("File '{}'", file.filename().string());
}

Error wrongCounts(const std::filesystem::path& file, std::string_view what)
{
    return {ErrorCode::Corrupt, fmt::format("{}: {}.", countsNameOf(file), what)};
}

/// The format of a counts file.
struct Form {
    std::vector<std::string> columns; // the last is "count"
    std::string_view inJson;
    std::string_view things; // "words"

    std::string header() const { return fmt::format("{}", fmt::join(columns, ",")); }
};

const Form tokenForm{{"token", "count"}, "an object {token: count}", "words"};
const Form bigramForm{{"first", "second", "count"}, "an array of [first, second, count]", "pairs"};

/// Takes one row: its words and its count.
using Take = std::function<void(std::span<const std::string> words, double count)>;

/// Returns the fault of a count, or an empty string if it is valid.
std::string faultOfCounts(double count)
{
    if (!std::isfinite(count))
        return "a count that is not finite";
    if (count < 0)
        return fmt::format("a count below 0, {}", count);
    return count > largestCount ? fmt::format("a count of {}, more than 10^18", count) : std::string();
}

std::optional<double> numberIn(std::string_view text)
{
    const auto isSpace = [](char c) { return c == ' ' || c == '\t'; };
    while (!text.empty() && isSpace(text.front()))
        text.remove_prefix(1);
    while (!text.empty() && isSpace(text.back()))
        text.remove_suffix(1);
    double number = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failure != std::errc() || end != text.data() + text.size() || text.empty())
        return std::nullopt;
    return number;
}

bool isTokenCountsHeader(const DelimitedRow& row, const std::vector<std::string>& columns)
{
    return std::equal(
        row.fields.begin(), row.fields.end(), columns.begin(), columns.end(),
        [](const std::string& field, const std::string& name) { return lowerCountsHeader(field) == name; });
}

Result<Done> readCsv(std::string_view text, const std::filesystem::path& file, const Form& form,
                     const Take& take)
{
    const auto rows = csvRows(text, countsNameOf(file));
    if (!rows)
        return rows.error();
    const std::size_t words = form.columns.size() - 1;
    for (const DelimitedRow& row : *rows) {
        if (row.fields.size() != form.columns.size()) {
            return wrongCounts(file,
                               fmt::format("line {} has {} column{}, expected {}: {}", row.line,
                                           row.fields.size(), row.fields.size() == 1 ? "" : "s",
                                           form.columns.size(), form.header()));
        }
        if (&row == &rows->front() && isTokenCountsHeader(row, form.columns))
            continue;
        if (std::any_of(row.fields.begin(), row.fields.end() - 1, std::mem_fn(&std::string::empty)))
            return wrongCounts(file, fmt::format("line {} has an empty word", row.line));
        const auto count = numberIn(row.fields.back());
        if (!count)
            return wrongCounts(file, fmt::format("line {} has a count that is not a number", row.line));
        if (const std::string fault = faultOfCounts(*count); !fault.empty())
            return wrongCounts(file, fmt::format("line {} has {}", row.line, fault));
        take(std::span(row.fields.data(), words), *count);
    }
    return Done{};
}

/// \param where "entry 3" \param value the count
Result<Done> takeJson(std::span<const std::string> words, const json& value, const std::string& where,
                      const std::filesystem::path& file, const Take& take)
{
    if (std::any_of(words.begin(), words.end(), std::mem_fn(&std::string::empty)))
        return wrongCounts(file, where + " has an empty word");
    if (!value.is_number())
        return wrongCounts(file, where + " has a count that is not a number");
    const auto count = value.get<double>();
    if (const std::string fault = faultOfCounts(count); !fault.empty())
        return wrongCounts(file, fmt::format("{} has {}", where, fault));
    take(words, count);
    return Done{};
}

Result<Done> readJson(std::string_view text, const std::filesystem::path& file, const Form& form,
                      const Take& take)
{
    const Result<json> root = parseJson(text, file.filename().string());
    if (!root)
        return root.error();
    const bool isPairs = form.columns.size() == 3;
    if (isPairs ? !root->is_array() : !root->is_object())
        return wrongCounts(file, fmt::format("expected {}", form.inJson));
    std::size_t place = 0;
    for (const auto& [key, value] : root->items()) {
        const std::string where = fmt::format("entry {}", ++place);
        if (isPairs
            && (!value.is_array() || value.size() != 3 || !value[0].is_string() || !value[1].is_string()))
            return wrongCounts(file, where + " is not [first, second, count]");
        const std::vector<std::string> words = isPairs
            ? std::vector{value[0].get<std::string>(), value[1].get<std::string>()}
            : std::vector{key};
        const auto taken = takeJson(words, isPairs ? value[2] : value, where, file, take);
        if (!taken)
            return taken;
    }
    return Done{};
}

/// Maps the words of a file to token ids. Counts the rows in which a word is not a token.
class Words {
public:
    explicit Words(const Vocabulary& vocabulary)
        : m_vocabulary(vocabulary)
    {
    }

    /// Returns the id of a word, or −1 if it is not a token of this model.
    int id(const std::string& word) const
    {
        const Result<int> found = tokenNamed(word, m_vocabulary.tokenizer);
        return found && *found >= 0 && *found < m_vocabulary.size ? *found : -1;
    }
    /// \param ids of one row
    bool areTokens(std::span<const int> ids)
    {
        ++m_rows;
        const bool all = std::all_of(ids.begin(), ids.end(), [](int id) { return id >= 0; });
        m_strange += !all;
        return all;
    }

    /// Returns a warning about words that are not tokens, or an empty string.
    /// Errors: NotFound if no row contains only tokens; Corrupt if there are no rows.
    Result<std::string> warning(const std::filesystem::path& file, const Form& form) const
    {
        if (m_rows == 0)
            return wrongCounts(
                file, fmt::format("it has no {}; write a line {} for each", form.things, form.header()));
        if (m_strange == m_rows) {
            return Error{
                ErrorCode::NotFound,
                fmt::format(
                    "File '{}': none of its {} {} names a token of this model; write tokens as shown, or as #ID.",
                    file.filename().string(), m_rows, form.things)};
        }
        if (m_strange == 0)
            return std::string();
        return fmt::format("{} of the {} {} in '{}' are not single tokens of this model and were ignored.",
                           m_strange, m_rows, form.things, file.filename().string());
    }

private:
    Vocabulary m_vocabulary;
    std::size_t m_rows = 0, m_strange = 0;
};

Result<std::string> readRows(const std::filesystem::path& path, const Form& form, Words& words,
                             const Take& take)
{
    const auto text = readTextFile(path, largestCountsFile);
    if (!text)
        return text.error();
    const auto done = lowerCountsHeader(path.extension().string()) == ".json"
        ? readJson(*text, path, form, take)
        : readCsv(*text, path, form, take);
    if (!done)
        return done.error();
    return words.warning(path, form);
}

Result<ReadCounts<TokenCounts>> readVector(const std::filesystem::path& path, const Vocabulary& vocabulary)
{
    auto numbers = readNpyVector(path);
    if (!numbers)
        return numbers.error();
    if (numbers->size() != static_cast<std::size_t>(vocabulary.size)) {
        return wrongCounts(path,
                           fmt::format("it holds {} numbers, expected {}, one for each token",
                                       numbers->size(), vocabulary.size));
    }
    for (std::size_t id = 0; id < numbers->size(); ++id) {
        if (const std::string fault = faultOfCounts((*numbers)[id]); !fault.empty())
            return wrongCounts(path, fmt::format("token {} has {}", id, fault));
    }
    return ReadCounts<TokenCounts>{
        std::make_shared<const TokenCounts>(path.filename().string(), std::move(numbers).value()), {}};
}

} // namespace

TokenCounts::TokenCounts(std::string source, std::vector<double> counts)
    : m_source(std::move(source))
    , m_counts(std::move(counts))
{
    Fingerprint fingerprint(m_source);
    for (const double count : m_counts) {
        m_total += count;
        fingerprint.add(count);
    }
    m_fingerprint = fingerprint.value();
}

double TokenCounts::of(int token) const
{
    return token >= 0 && static_cast<std::size_t>(token) < m_counts.size()
        ? m_counts[static_cast<std::size_t>(token)]
        : 0;
}

BigramCounts::BigramCounts(std::string source, std::vector<Pair> pairs)
    : m_source(std::move(source))
{
    std::erase_if(pairs, [](const Pair& pair) { return pair.count == 0; });
    std::stable_sort(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) {
        return std::pair(a.second, a.first) < std::pair(b.second, b.first);
    });
    for (const Pair& pair : pairs) {
        m_total += pair.count;
        const bool isNew = m_seconds.empty() || m_seconds.back() != pair.second;
        if (isNew) {
            m_seconds.push_back(pair.second);
            m_begin.push_back(m_prefixes.size());
        }
        if (!isNew && m_prefixes.back().token == pair.first)
            m_prefixes.back().count += pair.count;
        else
            m_prefixes.push_back({pair.first, pair.count});
    }
    m_begin.push_back(m_prefixes.size());
    Fingerprint fingerprint(m_source);
    for (const int second : m_seconds) {
        fingerprint.add(second);
        for (const Prefix& prefix : before(second)) {
            fingerprint.add(prefix.token);
            fingerprint.add(prefix.count);
        }
    }
    m_fingerprint = fingerprint.value();
}

std::span<const BigramCounts::Prefix> BigramCounts::before(int second) const
{
    const auto found = std::lower_bound(m_seconds.begin(), m_seconds.end(), second);
    if (found == m_seconds.end() || *found != second)
        return {};
    const auto place = static_cast<std::size_t>(found - m_seconds.begin());
    return std::span(m_prefixes).subspan(m_begin[place], m_begin[place + 1] - m_begin[place]);
}

double BigramCounts::of(int first, int second) const
{
    const std::span<const Prefix> all = before(second);
    const auto found = std::lower_bound(all.begin(), all.end(), first,
                                        [](const Prefix& prefix, int token) { return prefix.token < token; });
    return found != all.end() && found->token == first ? found->count : 0;
}

Result<ReadCounts<TokenCounts>> readTokenCounts(const std::filesystem::path& path,
                                                const Vocabulary& vocabulary)
{
    if (lowerCountsHeader(path.extension().string()) == ".npy")
        return readVector(path, vocabulary);
    Words words(vocabulary);
    std::vector<double> counts(static_cast<std::size_t>(vocabulary.size), 0.0);
    auto warning = readRows(path, tokenForm, words, [&](std::span<const std::string> row, double count) {
        const int id = words.id(row[0]);
        if (words.areTokens(std::span(&id, 1)))
            counts[static_cast<std::size_t>(id)] += count;
    });
    if (!warning)
        return warning.error();
    auto read = std::make_shared<const TokenCounts>(path.filename().string(), std::move(counts));
    if (read->total() == 0)
        return wrongCounts(path, "no token has a count above 0");
    return ReadCounts<TokenCounts>{std::move(read), std::move(warning).value()};
}

Result<ReadCounts<BigramCounts>> readBigramCounts(const std::filesystem::path& path,
                                                  const Vocabulary& vocabulary)
{
    Words words(vocabulary);
    std::vector<BigramCounts::Pair> pairs;
    auto warning = readRows(path, bigramForm, words, [&](std::span<const std::string> row, double count) {
        const int ids[] = {words.id(row[0]), words.id(row[1])};
        if (words.areTokens(ids))
            pairs.push_back({ids[0], ids[1], count});
    });
    if (!warning)
        return warning.error();
    auto read = std::make_shared<const BigramCounts>(path.filename().string(), std::move(pairs));
    if (read->size() == 0)
        return wrongCounts(path, "no pair has a count above 0");
    return ReadCounts<BigramCounts>{std::move(read), std::move(warning).value()};
}

Result<std::vector<std::string>> readWords(const std::filesystem::path& path)
{
    const auto text = readTextFile(path, largestCountsFile);
    if (!text)
        return text.error();
    const auto rows = csvRows(*text, countsNameOf(path));
    if (!rows)
        return rows.error();
    const bool isCsv = lowerCountsHeader(path.extension().string()) == ".csv";
    std::vector<std::string> words;
    std::unordered_set<std::string> known;
    for (const DelimitedRow& row : *rows) {
        if (row.fields.size() != 1)
            return wrongCounts(
                path, fmt::format("line {} has {} columns, expected one word", row.line, row.fields.size()));
        constexpr const char* spaces = " \t\r\n";
        const std::size_t first = row.fields[0].find_first_not_of(spaces);
        if (first == std::string::npos)
            continue;
        std::string word = row.fields[0].substr(first, row.fields[0].find_last_not_of(spaces) + 1 - first);
        if (word.size() > longestCountedWord)
            return wrongCounts(path,
                               fmt::format("line {} has a word of {} bytes, more than {}", row.line,
                                           word.size(), longestCountedWord));
        if (isCsv && &row == &rows->front()
            && (lowerCountsHeader(word) == "name" || lowerCountsHeader(word) == "word"))
            continue;
        if (known.insert(word).second)
            words.push_back(std::move(word));
    }
    if (words.empty())
        return wrongCounts(path, "it has no words; write one per line");
    return words;
}

} // namespace headwise
