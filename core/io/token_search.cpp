#include "core/io/token_search.h"

#include "core/io/tokenizer.h"

#include <algorithm>
#include <charconv>
#include <string>

namespace headwise {

namespace {

std::string lowered(std::string text)
{
    std::transform(text.begin(), text.end(), text.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return text;
}

} // namespace

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
