#include "core/tokenizer/token_pattern.h"

#include "core/files/utf8.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <utility>

namespace headwise {

namespace {

constexpr std::size_t patternLengthLimit = 1u << 20; // bytes
// per match; published patterns need a few steps per character
constexpr std::uint32_t stepLimit = 10'000'000;
constexpr std::uint32_t heapLimit = 64 * 1024; // KiB

constexpr std::string_view wordProperties = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}";

/// Long names of general categories. PCRE2 knows only their two-letter names.
constexpr std::array<std::pair<std::string_view, std::string_view>, 17> categories{{
    {"Letter", "L"},
    {"Uppercase_Letter", "Lu"},
    {"Lowercase_Letter", "Ll"},
    {"Titlecase_Letter", "Lt"},
    {"Modifier_Letter", "Lm"},
    {"Other_Letter", "Lo"},
    {"Mark", "M"},
    {"Nonspacing_Mark", "Mn"},
    {"Number", "N"},
    {"Decimal_Number", "Nd"},
    {"Punctuation", "P"},
    {"Connector_Punctuation", "Pc"},
    {"Symbol", "S"},
    {"Math_Symbol", "Sm"},
    {"Separator", "Z"},
    {"Space_Separator", "Zs"},
    {"Other", "C"},
}};

/// PCRE2 reads a bare script name as the script's *extensions*, Oniguruma as the script itself.
constexpr std::array<std::string_view, 16> scripts{
    "Arabic", "Armenian", "Bengali",  "Cyrillic", "Devanagari", "Georgian", "Greek", "Han",
    "Hangul", "Hebrew",   "Hiragana", "Katakana", "Khmer",      "Latin",    "Tamil", "Thai",
};

std::string propertyName(std::string_view name)
{
    for (const auto& [longName, shortName] : categories)
        if (name == longName)
            return std::string(shortName);
    if (std::find(scripts.begin(), scripts.end(), name) != scripts.end())
        return "sc:" + std::string(name);
    return std::string(name);
}

/// Rewrites a pattern from left to right; see pcre2Syntax.
class Translation {
public:
    explicit Translation(std::string_view pattern)
        : m_rest(pattern)
    {
    }

    std::optional<std::string> result()
    {
        while (!m_rest.empty() && m_possible) {
            if (m_rest.front() == '\\')
                escape();
            else if (m_classDepth > 0)
                insideClass();
            else if (m_rest.front() == '[')
                openClass();
            else
                copy(1);
        }
        return m_possible ? std::optional(m_pattern) : std::nullopt;
    }

private:
    void copy(std::size_t count)
    {
        m_pattern += m_rest.substr(0, count);
        m_rest.remove_prefix(std::min(count, m_rest.size()));
    }

    void replace(std::size_t count, std::string_view by)
    {
        m_pattern += by;
        m_rest.remove_prefix(std::min(count, m_rest.size()));
    }

    void openClass()
    {
        ++m_classDepth;
        copy(1);
        if (m_rest.starts_with('^'))
            copy(1);
        if (m_rest.starts_with(']'))
            replace(1, "\\]");
    }

    void insideClass()
    {
        if (m_rest.starts_with("[:")) {
            const std::size_t end = m_rest.find(":]");
            copy(end == std::string_view::npos ? 1 : end + 2);
        } else if (m_rest.starts_with("[^") || m_rest.starts_with("&&")) {
            m_possible = false;
        } else if (m_rest.starts_with('[')) { // A union: the inner brackets add nothing.
            ++m_classDepth;
            replace(1, "");
        } else if (m_rest.starts_with(']')) {
            --m_classDepth;
            replace(1, m_classDepth == 0 ? "]" : "");
        } else {
            copy(1);
        }
    }

    void escape()
    {
        const char letter = m_rest.size() > 1 ? m_rest[1] : '\0';
        const bool inClass = m_classDepth > 0;
        switch (letter) {
        case 's': return replace(2, "\\p{White_Space}");
        case 'S': return replace(2, "\\P{White_Space}");
        case 'w':
            return replace(2,
                           inClass ? std::string(wordProperties) : "[" + std::string(wordProperties) + "]");
        case 'h': return replace(2, inClass ? "0-9A-Fa-f" : "[0-9A-Fa-f]");
        case 'W': return negated(inClass, "[^" + std::string(wordProperties) + "]");
        case 'H': return negated(inClass, "[^0-9A-Fa-f]");
        case 'p':
        case 'P': return property();
        case 'u':
            if (m_rest.size() >= 6)
                return replace(6, "\\x{" + std::string(m_rest.substr(2, 4)) + "}");
            break;
        default: break;
        }
        copy(2);
    }

    void negated(bool inClass, std::string_view byClass)
    {
        m_possible = m_possible && !inClass;
        replace(2, byClass);
    }

    void property()
    {
        const std::size_t end = m_rest.find('}');
        if (m_rest.size() < 3 || m_rest[2] != '{' || end == std::string_view::npos)
            return copy(2);
        std::string_view name = m_rest.substr(3, end - 3);
        const bool inverted = name.starts_with('^');
        if (inverted)
            name.remove_prefix(1);
        const std::string head = std::string(m_rest.substr(0, 3)) + (inverted ? "^" : "");
        replace(end + 1, head + propertyName(name) + "}");
    }

    std::string_view m_rest;
    std::string m_pattern;
    int m_classDepth = 0;
    bool m_possible = true;
};

std::string compilerMessage(int code)
{
    std::array<PCRE2_UCHAR8, 256> text{};
    pcre2_get_error_message_8(code, text.data(), text.size());
    return reinterpret_cast<const char*>(text.data());
}

struct MatchState {
    std::unique_ptr<pcre2_match_data_8, decltype(&pcre2_match_data_free_8)> data;
    std::unique_ptr<pcre2_match_context_8, decltype(&pcre2_match_context_free_8)> context;
};

int matchFrom(const pcre2_real_code_8* code, std::string_view text, std::size_t offset,
              const MatchState& state)
{
    const auto* subject = reinterpret_cast<PCRE2_SPTR8>(text.data());
    // The whole text was checked once; a check in every call would take quadratic time.
    const int found = pcre2_match_8(code, subject, text.size(), offset, PCRE2_NO_UTF_CHECK, state.data.get(),
                                    state.context.get());
    if (found != PCRE2_ERROR_JIT_STACKLIMIT)
        return found;
    return pcre2_match_8(code, subject, text.size(), offset, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT,
                         state.data.get(), state.context.get());
}

} // namespace

std::optional<std::string> pcre2Syntax(std::string_view oniguruma)
{
    return Translation(oniguruma).result();
}

TokenPattern::TokenPattern(std::shared_ptr<const pcre2_real_code_8> code)
    : m_code(std::move(code))
{
}

Result<TokenPattern> TokenPattern::compile(const TokenPatternText& pattern)
{
    const std::string quoted = "Pattern '" + pattern.text.substr(0, 200) + "'";
    if (pattern.text.size() > patternLengthLimit)
        return Error{ErrorCode::Corrupt,
                     quoted + " is longer than " + std::to_string(patternLengthLimit) + " bytes."};
    if (pattern.text.empty())
        return TokenPattern(nullptr);
    const std::optional<std::string> source = pattern.isRegex ? pcre2Syntax(pattern.text) : pattern.text;
    if (!source)
        return Error{ErrorCode::Unsupported, quoted + " uses negated or intersected classes within a class."};
    int code = 0;
    PCRE2_SIZE offset = 0;
    // In Oniguruma's default syntax, ^ and $ match at every line.
    const std::uint32_t options = pattern.isRegex
        ? PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C
        : PCRE2_UTF | PCRE2_LITERAL;
    pcre2_code_8* compiled = pcre2_compile_8(reinterpret_cast<PCRE2_SPTR8>(source->data()), source->size(),
                                             options, &code, &offset, nullptr);
    if (!compiled)
        return Error{ErrorCode::Corrupt, quoted + " does not compile: " + compilerMessage(code) + "."};
    pcre2_jit_compile_8(compiled, PCRE2_JIT_COMPLETE); // Without a JIT, the interpreter is used.
    return TokenPattern(std::shared_ptr<const pcre2_real_code_8>(
        compiled, [](pcre2_real_code_8* owned) { pcre2_code_free_8(owned); }));
}

Result<std::vector<TokenPattern::Match>> TokenPattern::matches(std::string_view text) const
{
    std::vector<Match> found;
    if (!m_code)
        return found;
    const MatchState state{{pcre2_match_data_create_8(1, nullptr), &pcre2_match_data_free_8},
                           {pcre2_match_context_create_8(nullptr), &pcre2_match_context_free_8}};
    pcre2_set_match_limit_8(state.context.get(), stepLimit);
    pcre2_set_heap_limit_8(state.context.get(), heapLimit);
    std::size_t offset = 0;
    while (offset <= text.size()) {
        const int result = matchFrom(m_code.get(), text, offset, state);
        if (result == PCRE2_ERROR_NOMATCH)
            break;
        if (result < 0)
            return Error{ErrorCode::Corrupt, "A pattern cannot be matched: " + compilerMessage(result) + "."};
        const PCRE2_SIZE* ends = pcre2_get_ovector_pointer_8(state.data.get());
        const Match match{ends[0], ends[1]};
        // \K can move the begin behind the end, and an empty match right after another match does not count.
        const bool empty = match.begin >= match.end;
        const bool repeated = match.begin < (found.empty() ? 0 : found.back().end);
        if (!repeated && !(empty && !found.empty() && match.end == found.back().end))
            found.push_back({match.begin, std::max(match.begin, match.end)});
        offset = std::max(match.end, offset);
        if (empty)
            offset += offset < text.size() ? utf8StepAt(text, offset).length : 1;
    }
    return found;
}

} // namespace headwise
