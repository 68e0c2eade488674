#include "core/tokenizer/token_search.h"

#include "core/tokenizer/tokenizer.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <string>

namespace headwise {

namespace {

std::string lowered(std::string text)
{
    std::transform(text.begin(), text.end(), text.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return text;
}

constexpr std::uint32_t mostSteps = 20'000; // per match; sane patterns take dozens
constexpr int tokensBetweenLooks = 1000;    // between checks for cancellation

struct PatternParts {
    std::unique_ptr<pcre2_code_8, decltype(&pcre2_code_free_8)> code;
    std::unique_ptr<pcre2_match_data_8, decltype(&pcre2_match_data_free_8)> data;
    std::unique_ptr<pcre2_match_context_8, decltype(&pcre2_match_context_free_8)> context;
};

std::string quoted(std::string_view pattern)
{
    return "Pattern '" + std::string(pattern.substr(0, 200)) + "'";
}

Result<PatternParts> compiled(std::string_view pattern)
{
    int problem = 0;
    PCRE2_SIZE place = 0;
    PatternParts parts{
        {pcre2_compile_8(reinterpret_cast<PCRE2_SPTR8>(pattern.data()), pattern.size(),
                         PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &problem, &place, nullptr),
         &pcre2_code_free_8},
        {nullptr, &pcre2_match_data_free_8},
        {pcre2_match_context_create_8(nullptr), &pcre2_match_context_free_8}};
    if (!parts.code) {
        std::array<PCRE2_UCHAR8, 256> reason{};
        pcre2_get_error_message_8(problem, reason.data(), reason.size());
        return Error{ErrorCode::InvalidArgument,
                     quoted(pattern)
                         + " is not a regular expression: " + reinterpret_cast<const char*>(reason.data())
                         + " (at byte " + std::to_string(place) + ")."};
    }
    pcre2_jit_compile_8(parts.code.get(),
                        PCRE2_JIT_COMPLETE); // Without a JIT, the interpreter is used.
    parts.data.reset(pcre2_match_data_create_from_pattern_8(parts.code.get(), nullptr));
    if (!parts.data || !parts.context)
        return Error{ErrorCode::OutOfMemory, "There is not enough memory to search the vocabulary."};
    pcre2_set_match_limit_8(parts.context.get(), mostSteps);
    return parts;
}

/// Text that is not well-formed UTF-8, such as part of a character, matches nothing.
Result<bool> isMatched(const PatternParts& pattern, const std::string& text)
{
    const int found = pcre2_match_8(pattern.code.get(), reinterpret_cast<PCRE2_SPTR8>(text.data()),
                                    text.size(), 0, 0, pattern.data.get(), pattern.context.get());
    if (found == PCRE2_ERROR_MATCHLIMIT || found == PCRE2_ERROR_DEPTHLIMIT || found == PCRE2_ERROR_HEAPLIMIT
        || found == PCRE2_ERROR_JIT_STACKLIMIT)
        return Error{ErrorCode::InvalidArgument, "takes too many steps"};
    return found > 0;
}

} // namespace

std::optional<std::string_view> patternIn(std::string_view query)
{
    if (query.size() < 3 || query.front() != '/' || query.back() != '/')
        return std::nullopt;
    return query.substr(1, query.size() - 2);
}

Result<std::vector<int>> matchingTokens(const Tokenizer& tokenizer, std::string_view pattern, int limit,
                                        const Task& task)
{
    const Result<PatternParts> parts = compiled(pattern);
    if (!parts)
        return parts.error();
    std::vector<int> found;
    for (int id = 0; id < tokenizer.size() && std::ssize(found) < limit; ++id) {
        if (id % tokensBetweenLooks == 0 && task.cancelled())
            return stopped();
        if (!tokenizer.hasToken(id))
            continue;
        Result<bool> matched = isMatched(*parts, tokenizer.shown(id));
        if (matched && !*matched)
            matched = isMatched(*parts, tokenizer.bytes(id));
        if (!matched)
            return Error{ErrorCode::InvalidArgument,
                         quoted(pattern) + " " + matched.error().message + " on token " + std::to_string(id)
                             + "; simplify its repetitions."};
        if (*matched)
            found.push_back(id);
    }
    return found;
}

Result<std::vector<int>> promptTokens(std::string_view prompt, const Tokenizer* tokenizer, int dVocab)
{
    if (tokenizer)
        return tokenizer->encode(prompt);
    constexpr std::string_view separators = " ,\t\r\n";
    std::vector<int> ids;
    for (std::size_t begin = prompt.find_first_not_of(separators); begin != std::string_view::npos;) {
        const std::size_t end = std::min(prompt.find_first_of(separators, begin), prompt.size());
        const std::string_view word = prompt.substr(begin, end - begin);
        const std::string_view digits = word.substr(word.front() == '#' ? 1 : 0);
        int id = -1;
        const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), id);
        if (parsed.ec != std::errc() || parsed.ptr != digits.data() + digits.size() || id < 0 || id >= dVocab)
            return Error{ErrorCode::InvalidArgument,
                         "'" + std::string(word)
                             + "' is not a token id. This model has no tokenizer, so write ids from 0 to "
                             + std::to_string(dVocab - 1) + ", separated by spaces."};
        ids.push_back(id);
        begin = prompt.find_first_not_of(separators, end);
    }
    return ids;
}

std::vector<bool> unusedIds(const Tokenizer& tokenizer, int count)
{
    std::vector<bool> unused(static_cast<std::size_t>(count));
    for (int id = 0; id < count; ++id)
        unused[static_cast<std::size_t>(id)] = !tokenizer.hasToken(id);
    return unused;
}

Result<int> tokenNamed(std::string_view text, const Tokenizer* tokenizer)
{
    if (tokenizer)
        return tokenizer->find(text);
    int id = -1;
    if (text.size() > 1 && text.front() == '#') {
        const char* end = text.data() + text.size();
        const auto parsed = std::from_chars(text.data() + 1, end, id);
        if (parsed.ec == std::errc() && parsed.ptr == end)
            return id;
    }
    return Error{ErrorCode::NotFound,
                 "There is no tokenizer beside this model, so '" + std::string(text)
                     + "' cannot be looked up; name the token by its id, as in #42."};
}

std::vector<int> searchTokens(const Tokenizer& tokenizer, std::string_view query, int limit)
{
    std::vector<int> found;
    if (query.empty() || limit <= 0)
        return found;
    const Result<int> exact = tokenizer.find(query);
    if (exact)
        found.push_back(*exact);
    const std::string wanted = lowered(std::string(query));
    std::vector<int> containing;
    const auto room = static_cast<std::size_t>(limit);
    for (int id = 0; id < tokenizer.size() && found.size() < room; ++id) {
        if (!tokenizer.hasToken(id) || (exact && id == *exact))
            continue;
        const std::size_t inShown = lowered(tokenizer.shown(id)).find(wanted);
        const std::size_t inRaw = lowered(tokenizer.bytes(id)).find(wanted);
        if (inShown == 0 || inRaw == 0)
            found.push_back(id);
        else if ((inShown != std::string::npos || inRaw != std::string::npos) && containing.size() < room)
            containing.push_back(id);
    }
    for (const int id : containing)
        if (found.size() < room)
            found.push_back(id);
    return found;
}

std::vector<int> piecesOf(const Tokenizer& tokenizer, std::string_view query)
{
    constexpr std::size_t longestQuery = 200;
    constexpr std::string_view shownSpace = "\u2423";
    if (query.empty() || query.size() > longestQuery || tokenizer.find(query))
        return {};
    std::string text(query);
    for (std::size_t at = text.find(shownSpace); at != std::string::npos; at = text.find(shownSpace, at))
        text.replace(at, shownSpace.size(), " ");
    Result<std::vector<int>> ids = tokenizer.encode(text, Tokenizer::SpecialTokens::None);
    return ids && ids->size() > 1 ? *std::move(ids) : std::vector<int>();
}

std::vector<int> sampleOfWords(const Tokenizer& tokenizer, int count)
{
    std::vector<int> words;
    const auto isLetter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    for (int id = 0; id < tokenizer.size() && static_cast<int>(words.size()) < count; ++id) {
        const std::string raw = tokenizer.bytes(id);
        if (raw.size() >= 4 && raw.front() == ' ' && std::all_of(raw.begin() + 1, raw.end(), isLetter))
            words.push_back(id);
    }
    return words;
}

} // namespace headwise
