#include "core/tokenizer/character_map.h"

#include "core/files/little_endian.h"
#include "core/files/utf8.h"

#include <utf8proc.h>

#include <cstring>
#include <span>

namespace headwise {
namespace {

bool hasLeaf(std::uint32_t unit)
{
    return (unit >> 8) & 1;
}

std::uint32_t labelOf(std::uint32_t unit)
{
    return unit & 0x800000FFu;
}

std::uint32_t offsetOf(std::uint32_t unit)
{
    return (unit >> 10) << ((unit & (1u << 9)) >> 6);
}

std::uint32_t characterMapValueOf(std::uint32_t unit)
{
    return unit & 0x7FFFFFFFu;
}

} // namespace

Result<CharacterMap> CharacterMap::create(std::string_view bytes)
{
    CharacterMap map;
    if (bytes.empty())
        return map;
    LittleEndianReader in(std::as_bytes(std::span(bytes)));
    const auto size = in.next<std::uint32_t>();
    const auto units = size ? in.take(*size) : std::nullopt;
    if (!units || *size % 4 != 0 || *size == 0)
        return Error{ErrorCode::Corrupt, "Its character map is cut off."};
    map.m_units.resize(*size / 4);
    std::memcpy(map.m_units.data(), units->data(), *size);
    map.m_strings = in.text(in.remaining()).value_or("");
    if (!map.m_strings.ends_with('\0'))
        return Error{ErrorCode::Corrupt, "The last string of its character map has no end."};
    return map;
}

std::optional<CharacterMap::Found> CharacterMap::find(std::string_view text, Prefer prefer) const
{
    std::optional<Found> found;
    if (m_units.empty())
        return found;
    std::uint32_t position = offsetOf(m_units[0]);
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        position ^= byte;
        if (byte == 0 || position >= m_units.size() || labelOf(m_units[position]) != byte)
            return found;
        const std::uint32_t unit = m_units[position];
        position ^= offsetOf(unit);
        if (!hasLeaf(unit))
            continue;
        if (position >= m_units.size() || characterMapValueOf(m_units[position]) >= m_strings.size())
            return found;
        found = Found{m_strings.c_str() + characterMapValueOf(m_units[position]), i + 1};
        if (prefer == Prefer::Shortest)
            return found;
    }
    return found;
}

std::string CharacterMap::normalized(std::string_view text) const
{
    std::string out;
    out.reserve(text.size());
    for (std::size_t position = 0; position < text.size();) {
        const std::size_t one = utf8StepAt(text, position).length;
        const Found found =
            find(text.substr(position), Prefer::Longest).value_or(Found{text.substr(position, one), one});
        out += found.by;
        position += found.length;
    }
    return out;
}

void CharacterMap::appendGrapheme(std::string_view grapheme, std::string& out) const
{
    const auto whole = grapheme.size() < 6 ? find(grapheme, Prefer::Shortest) : std::nullopt;
    if (whole) {
        out += whole->by;
        return;
    }
    for (std::size_t position = 0; position < grapheme.size();) {
        const std::string_view one = grapheme.substr(position, utf8StepAt(grapheme, position).length);
        const auto found = find(one, Prefer::Shortest);
        out += found ? found->by : one;
        position += one.size();
    }
}

std::string CharacterMap::normalizedByGrapheme(std::string_view text) const
{
    std::string out;
    out.reserve(text.size());
    utf8proc_int32_t state = 0;
    std::size_t begin = 0;
    utf8proc_int32_t before = -1;
    for (std::size_t position = 0; position < text.size();) {
        const Utf8Step step = utf8StepAt(text, position);
        const auto now = static_cast<utf8proc_int32_t>(step.codePoint);
        if (before >= 0 && utf8proc_grapheme_break_stateful(before, now, &state)) {
            appendGrapheme(text.substr(begin, position - begin), out);
            begin = position;
        }
        before = now;
        position += step.length;
    }
    appendGrapheme(text.substr(begin), out);
    return out;
}

} // namespace headwise
