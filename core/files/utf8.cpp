#include "core/files/utf8.h"

namespace headwise {

namespace {

struct LeadByte {
    std::size_t length; // bytes of the whole sequence, 0 if none starts with this byte
    unsigned char low;  // bounds of the second byte; all later ones are 80..BF
    unsigned char high;
};

LeadByte leadByte(unsigned char byte)
{
    if (byte < 0x80)
        return {1, 0, 0};
    if (byte < 0xC2)
        return {0, 0, 0};
    if (byte < 0xE0)
        return {2, 0x80, 0xBF};
    if (byte < 0xF0)
        return {3, static_cast<unsigned char>(byte == 0xE0 ? 0xA0 : 0x80),
                static_cast<unsigned char>(byte == 0xED ? 0x9F : 0xBF)};
    if (byte < 0xF5)
        return {4, static_cast<unsigned char>(byte == 0xF0 ? 0x90 : 0x80),
                static_cast<unsigned char>(byte == 0xF4 ? 0x8F : 0xBF)};
    return {0, 0, 0};
}

} // namespace

Utf8Step utf8StepAt(std::string_view text, std::size_t position)
{
    const auto byteAt = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char first = byteAt(position);
    const LeadByte lead = leadByte(first);
    if (lead.length == 0)
        return {0, 1, false};
    if (lead.length == 1)
        return {first, 1, true};
    char32_t codePoint = first & (0x7Fu >> lead.length);
    for (std::size_t i = 1; i < lead.length; ++i) {
        const unsigned char low = i == 1 ? lead.low : 0x80;
        const unsigned char high = i == 1 ? lead.high : 0xBF;
        if (position + i >= text.size() || byteAt(position + i) < low || byteAt(position + i) > high)
            return {0, i, false};
        codePoint = (codePoint << 6) | (byteAt(position + i) & 0x3Fu);
    }
    return {codePoint, lead.length, true};
}

void appendUtf8(std::string& text, char32_t codePoint)
{
    const auto append = [&text](char32_t byte) { text.push_back(static_cast<char>(byte)); };
    if (codePoint < 0x80) {
        append(codePoint);
    } else if (codePoint < 0x800) {
        append(0xC0 | (codePoint >> 6));
        append(0x80 | (codePoint & 0x3F));
    } else if (codePoint < 0x10000) {
        append(0xE0 | (codePoint >> 12));
        append(0x80 | ((codePoint >> 6) & 0x3F));
        append(0x80 | (codePoint & 0x3F));
    } else {
        append(0xF0 | (codePoint >> 18));
        append(0x80 | ((codePoint >> 12) & 0x3F));
        append(0x80 | ((codePoint >> 6) & 0x3F));
        append(0x80 | (codePoint & 0x3F));
    }
}

std::optional<std::size_t> firstInvalidUtf8(std::string_view text)
{
    for (std::size_t position = 0; position < text.size();) {
        const Utf8Step step = utf8StepAt(text, position);
        if (!step.valid)
            return position;
        position += step.length;
    }
    return std::nullopt;
}

std::string withReplacementCharacters(std::string_view text)
{
    std::string replaced;
    replaced.reserve(text.size());
    for (std::size_t position = 0; position < text.size();) {
        const Utf8Step step = utf8StepAt(text, position);
        if (step.valid)
            replaced.append(text.substr(position, step.length));
        else
            appendUtf8(replaced, 0xFFFD);
        position += step.length;
    }
    return replaced;
}

} // namespace headwise
