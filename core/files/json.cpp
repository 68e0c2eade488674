#include "core/files/json.h"

#include "core/files/utf8.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <limits>
#include <system_error>
#include <vector>

namespace headwise {
namespace {

using nlohmann::json;

/// Starts the strings that stand for bare NaN and Infinity while the text is parsed; see withoutNonFinite().
constexpr char nonFiniteMark = '\0';

/// Cuts nlohmann's "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error while …" down to its
/// last part; its numbers mean nothing to our reader.
std::string reasonOf(const char* what)
{
    const std::string_view text = what;
    const auto column = text.find(", column ");
    const auto colon = text.find(": ", column == std::string_view::npos ? 0 : column);
    return std::string(colon == std::string_view::npos ? text : text.substr(colon + 2));
}

std::string lineAndColumn(std::string_view text, std::size_t position)
{
    std::size_t line = 1, column = 1;
    for (const char c : text.substr(0, std::min(position, text.size()))) {
        ++column;
        if (c == '\n')
            ++line, column = 1;
    }
    return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

/// Builds the value from nlohmann's events. Its own builder silently keeps the last of two equal names.
class JsonBuilder {
public:
    JsonBuilder(int maxDepth, bool hasMarks)
        : m_maxDepth(maxDepth)
        , m_hasMarks(hasMarks)
    {
    }

    bool null() { return add(nullptr) != nullptr; }
    bool boolean(bool value) { return add(value) != nullptr; }
    bool number_integer(json::number_integer_t value) { return add(value) != nullptr; }
    bool number_unsigned(json::number_unsigned_t value) { return add(value) != nullptr; }
    bool number_float(json::number_float_t value, const std::string&) { return add(value) != nullptr; }
    bool binary(json::binary_t&) { return false; }

    bool string(std::string& value)
    {
        if (m_hasMarks && !value.empty() && value[0] == nonFiniteMark) {
            if (value.compare(1, std::string::npos, "NaN") == 0)
                return add(std::numeric_limits<double>::quiet_NaN()) != nullptr;
            if (value.compare(1, std::string::npos, "Infinity") == 0)
                return add(std::numeric_limits<double>::infinity()) != nullptr;
            if (value.compare(1, std::string::npos, "-Infinity") == 0)
                return add(-std::numeric_limits<double>::infinity()) != nullptr;
        }
        return add(std::move(value)) != nullptr;
    }

    bool start_object(std::size_t) { return open(json::object()); }
    bool start_array(std::size_t) { return open(json::array()); }
    bool end_object() { return close(); }
    bool end_array() { return close(); }

    bool key(std::string& name)
    {
        if (m_hasMarks && !name.empty() && name[0] == nonFiniteMark)
            return refuse("the name '" + name.substr(1) + "' has no quotes");
        const auto [entry, isNew] = m_open.back()->emplace(name, nullptr);
        if (!isNew)
            return refuse("the name '" + name + "' occurs twice in one object");
        m_value = &*entry;
        return true;
    }

    bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& error)
    {
        m_position = position;
        return refuse(reasonOf(error.what()));
    }

    json takeRoot() { return std::move(m_root); }
    const std::string& reason() const { return m_reason; }
    std::size_t position() const { return m_position; } ///< In bytes; 0 if only the reason is known.

private:
    template <typename Value>
    json* add(Value&& value)
    {
        if (m_open.empty()) {
            m_root = std::forward<Value>(value);
            return &m_root;
        }
        if (m_open.back()->is_array())
            return &m_open.back()->emplace_back(std::forward<Value>(value));
        *m_value = std::forward<Value>(value);
        return m_value;
    }

    bool open(json&& empty)
    {
        if (static_cast<int>(m_open.size()) >= m_maxDepth)
            return refuse("values are nested deeper than " + std::to_string(m_maxDepth) + " levels");
        m_open.push_back(add(std::move(empty)));
        return true;
    }

    bool close()
    {
        m_open.pop_back();
        return true;
    }

    bool refuse(std::string reason)
    {
        m_reason = std::move(reason);
        return false;
    }

    int m_maxDepth;
    bool m_hasMarks; ///< Whether withoutNonFinite() rewrote the text.
    json m_root;
    std::vector<json*> m_open; ///< The objects and arrays around the next value, outermost first.
    json* m_value = nullptr;   ///< The slot for the value of the last key.
    std::string m_reason;
    std::size_t m_position = 0;
};

/// A text in which each bare NaN, Infinity and -Infinity outside a string has become a marked string, because no JSON
/// parser accepts them.
struct WithoutNonFinite {
    struct Word {
        std::size_t begin; ///< In the text.
        std::size_t size;
    };
    static constexpr std::string_view quote = "\"";
    static constexpr std::string_view mark = "\\u0000";
    static constexpr std::size_t added = 2 * quote.size() + mark.size();

    std::string text;
    std::vector<Word> words;

    /// Maps the byte `position` of `text` to the original text; inside a mark, to the beginning of its word.
    std::size_t originalPosition(std::size_t position) const
    {
        for (const Word& word : words) {
            if (position < word.begin)
                break;
            if (position < word.begin + word.size + added)
                return word.begin;
            position -= added;
        }
        return position;
    }
};

WithoutNonFinite withoutNonFinite(std::string_view text)
{
    static constexpr std::string_view words[] = {"NaN", "Infinity", "-Infinity"};
    WithoutNonFinite rewritten;
    rewritten.text.reserve(text.size());
    bool inString = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (inString && text[i] == '\\' && i + 1 < text.size()) {
            rewritten.text += text[i++];
        } else if (text[i] == '"') {
            inString = !inString;
        } else if (!inString) {
            const auto word = std::find_if(std::begin(words), std::end(words),
                                           [&](std::string_view w) { return text.substr(i, w.size()) == w; });
            if (word != std::end(words)) {
                rewritten.text.append(WithoutNonFinite::quote)
                    .append(WithoutNonFinite::mark)
                    .append(*word)
                    .append(WithoutNonFinite::quote);
                rewritten.words.push_back({i, word->size()});
                i += word->size() - 1;
                continue;
            }
        }
        rewritten.text += text[i];
    }
    return rewritten;
}

} // namespace

Result<json> parseJson(std::string_view text, std::string_view fileName, const JsonRules& rules)
{
    const auto corrupt = [&](std::size_t position, const std::string& reason) {
        return Error{ErrorCode::Corrupt,
                     "File '" + std::string(fileName) + "' is not valid JSON"
                         + (position ? " (" + lineAndColumn(text, position - 1) + ")" : "") + ": " + reason
                         + "."};
    };
    if (const auto invalid = firstInvalidUtf8(text))
        return corrupt(*invalid + 1, "the text is not valid UTF-8");
    // A text that contains the mark itself is left alone, so that none of its strings is mistaken for a number.
    const bool rewrites = rules.allowNonFinite && text.find("\\u0000") == std::string_view::npos;
    const WithoutNonFinite rewritten = rewrites ? withoutNonFinite(text) : WithoutNonFinite{};
    const std::string_view parsed = rewrites ? std::string_view(rewritten.text) : text;
    JsonBuilder builder(rules.maxDepth, rewrites);
    if (!json::sax_parse(parsed.data(), parsed.data() + parsed.size(), &builder)) {
        const std::size_t position = builder.position();
        return corrupt(position ? rewritten.originalPosition(position - 1) + 1 : 0, builder.reason());
    }
    return builder.takeRoot();
}

json jsonValue(std::string_view text)
{
    return json::parse(text, nullptr, false);
}

std::string jsonText(const json& value, int indent)
{
    return value.dump(indent, ' ', false, json::error_handler_t::replace);
}

std::string jsonText(const nlohmann::ordered_json& value, int indent)
{
    return value.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

Result<std::string> readTextFile(const std::filesystem::path& path, std::size_t maxBytes)
{
    std::error_code error;
    const auto status = std::filesystem::status(path, error);
    if (status.type() == std::filesystem::file_type::not_found)
        return Error{ErrorCode::NotFound, "File '" + path.string() + "' does not exist."};
    if (error)
        return Error{ErrorCode::Io,
                     "File '" + path.string() + "' cannot be inspected: " + error.message() + "."};
    if (!std::filesystem::is_regular_file(status))
        return Error{ErrorCode::Unsupported, "'" + path.string() + "' is not a regular file."};
    std::ifstream file(path, std::ios::binary);
    if (!file)
        return Error{ErrorCode::Io,
                     "File '" + path.string()
                         + "' cannot be opened: " + std::generic_category().message(errno) + "."};
    std::string text;
    char buffer[1 << 16];
    // Reads in pieces rather than by the claimed size: files in /proc claim 0, and a file may grow meanwhile.
    while (file.read(buffer, sizeof buffer) || file.gcount() > 0) {
        text.append(buffer, static_cast<std::size_t>(file.gcount()));
        if (text.size() > maxBytes)
            return Error{ErrorCode::Unsupported,
                         "File '" + path.string() + "' is longer than the " + std::to_string(maxBytes)
                             + " bytes this version reads."};
    }
    if (file.bad())
        return Error{ErrorCode::Io, "File '" + path.string() + "' cannot be read to its end."};
    return text;
}

} // namespace headwise
