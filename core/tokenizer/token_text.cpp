#include "core/tokenizer/token_text.h"

#include "core/files/utf8.h"

namespace headwise {

namespace {

enum class Spaces { Marked, Verbatim };

bool isControl(char32_t c)
{
    return c < 0x20 || (c >= 0x7F && c <= 0x9F);
}

bool isBidiControl(char32_t c)
{
    return c == 0x061C || c == 0x200E || c == 0x200F || (c >= 0x202A && c <= 0x202E)
        || (c >= 0x2066 && c <= 0x2069);
}

void appendBytesInHex(std::string& tokenTextShown, std::string_view bytes)
{
    constexpr std::string_view digits = "0123456789ABCDEF";
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        tokenTextShown += "<0x";
        tokenTextShown += digits[byte >> 4];
        tokenTextShown += digits[byte & 0xF];
        tokenTextShown += '>';
    }
}

bool isMarkedSpace(std::string_view bytes, std::size_t position)
{
    return position == 0 || position + 1 == bytes.size() || bytes[position - 1] == ' '
        || bytes[position + 1] == ' ';
}

std::string tokenTextShown(std::string_view bytes, Spaces spaces)
{
    std::string text;
    text.reserve(bytes.size() + 4);
    for (std::size_t position = 0; position < bytes.size();) {
        const Utf8Step step = utf8StepAt(bytes, position);
        const std::string_view part = bytes.substr(position, step.length);
        const char32_t codePoint =
            step.valid ? step.codePoint : 0; // a control, like the other bytes in hexadecimal
        if (codePoint == ' ')
            text += spaces == Spaces::Marked && isMarkedSpace(bytes, position) ? "␣" : " ";
        else if (codePoint == '\n')
            text += "⏎";
        else if (codePoint == '\t')
            text += "⇥";
        else if (isControl(codePoint) || isBidiControl(codePoint))
            appendBytesInHex(text, part);
        else
            text += part;
        position += step.length;
    }
    return text;
}

} // namespace

std::string shownToken(std::string_view rawBytes)
{
    return tokenTextShown(rawBytes, Spaces::Marked);
}

std::string shownSpecialToken(std::string_view content)
{
    return tokenTextShown(content, Spaces::Verbatim);
}

std::string shownId(int id)
{
    return "#" + std::to_string(id);
}

std::string shownUnused(int id)
{
    return "[unused " + std::to_string(id) + "]";
}

} // namespace headwise
