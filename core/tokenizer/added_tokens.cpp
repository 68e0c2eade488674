#include "core/tokenizer/added_tokens.h"

#include "core/files/utf8.h"

#include <algorithm>
#include <functional>

namespace headwise {

namespace {

/// Unicode's property White_Space.
bool isUnicodeWhiteSpace(char32_t c)
{
    return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680
        || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F
        || c == 0x3000;
}

std::size_t characterBefore(std::string_view text, std::size_t position)
{
    do
        --position;
    while (position > 0 && (static_cast<unsigned char>(text[position]) & 0xC0) == 0x80);
    return position;
}

std::size_t withoutSpaceBefore(std::string_view text, std::size_t begin, std::size_t limit)
{
    while (begin > limit) {
        const std::size_t previous = characterBefore(text, begin);
        if (!isUnicodeWhiteSpace(utf8StepAt(text, previous).codePoint))
            break;
        begin = previous;
    }
    return std::max(begin, limit);
}

std::size_t withoutSpaceAfter(std::string_view text, std::size_t end)
{
    while (end < text.size() && isUnicodeWhiteSpace(utf8StepAt(text, end).codePoint))
        end += utf8StepAt(text, end).length;
    return end;
}

} // namespace

AddedTokenMatcher::AddedTokenMatcher()
    : m_wordCharacter(TokenPattern::compile({true, "[\\w\\p{Join_Control}]"}).value())
{
}

void AddedTokenMatcher::add(const AddedToken& token, const std::string& content)
{
    if (content.empty())
        return;
    std::vector<std::size_t>& lengths = m_lengths[static_cast<unsigned char>(content.front())];
    const auto place = std::lower_bound(lengths.begin(), lengths.end(), content.size(), std::greater<>());
    if (place == lengths.end() || *place != content.size())
        lengths.insert(place, content.size());
    m_tokens.emplace(content, token);
}

AddedTokenMatcher::Found AddedTokenMatcher::longestAt(std::string_view text, std::size_t position,
                                                      Tokenizer::SpecialText specialText) const
{
    for (const std::size_t length : m_lengths[static_cast<unsigned char>(text[position])]) {
        if (length > text.size() - position)
            continue;
        const auto found = m_tokens.find(text.substr(position, length));
        const bool isSkipped =
            found != m_tokens.end() && found->second.special && specialText == Tokenizer::SpecialText::IsText;
        if (found != m_tokens.end() && !isSkipped)
            return {&found->second, length};
    }
    return {nullptr, 0};
}

bool AddedTokenMatcher::touchesWord(std::string_view text, std::size_t begin, std::size_t end) const
{
    const auto isWord = [this](std::string_view character) {
        const auto found = m_wordCharacter.matches(character);
        return found && !found->empty();
    };
    if (begin > 0) {
        const std::size_t previous = characterBefore(text, begin);
        if (isWord(text.substr(previous, begin - previous)))
            return true;
    }
    return end < text.size() && isWord(text.substr(end, utf8StepAt(text, end).length));
}

std::vector<AddedTokenMatcher::Part> AddedTokenMatcher::split(std::string_view text,
                                                              Tokenizer::SpecialText specialText) const
{
    std::vector<Part> parts;
    std::size_t written = 0;
    const auto writeText = [&](std::size_t end) {
        if (end > written)
            parts.push_back({text.substr(written, end - written), plainText});
    };
    for (std::size_t position = 0; position < text.size();) {
        const auto [token, length] = longestAt(text, position, specialText);
        if (!token) {
            ++position;
            continue;
        }
        std::size_t begin = position;
        std::size_t end = position + length;
        position = end;
        if (token->singleWord && touchesWord(text, begin, end))
            continue;
        if (token->stripLeft)
            begin = withoutSpaceBefore(text, begin, written);
        if (token->stripRight)
            end = withoutSpaceAfter(text, end);
        writeText(begin);
        parts.push_back({text.substr(begin, end - begin), token->id});
        written = end;
        position = std::max(position, end);
    }
    writeText(text.size());
    return parts;
}

} // namespace headwise
