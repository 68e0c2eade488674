#pragma once

#include <charconv>
#include <compare>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace headwise {

/// One attention (query) head. Layers and heads count from 0.
struct HeadId {
    int layer = 0;
    int head = 0;

    auto operator<=>(const HeadId&) const = default;
};

/// "L5H1", the label of titles, files and the clipboard.
inline std::string headLabel(HeadId id)
{
    return "L" + std::to_string(id.layer) + "H" + std::to_string(id.head);
}

/// "5.1", the form of the command line and the session file.
inline std::string dottedHead(HeadId id)
{
    return std::to_string(id.layer) + "." + std::to_string(id.head);
}

/// Reads "5.1", "L5H1", "l5h1" and "L5 H1"; nothing else.
inline std::optional<HeadId> parseHeadId(std::string_view text)
{
    HeadId id;
    const char* end = text.data() + text.size();
    const bool labelled = !text.empty() && (text.front() == 'L' || text.front() == 'l');
    const auto layer = std::from_chars(text.data() + (labelled ? 1 : 0), end, id.layer);
    const char* at = layer.ptr;
    if (labelled && at != end && *at == ' ')
        ++at;
    const bool separated = at != end && (labelled ? *at == 'H' || *at == 'h' : *at == '.');
    if (layer.ec != std::errc() || !separated)
        return std::nullopt;
    const auto head = std::from_chars(at + 1, end, id.head);
    if (head.ec != std::errc() || head.ptr != end || id.layer < 0 || id.head < 0)
        return std::nullopt;
    return id;
}

} // namespace headwise

template <>
struct std::hash<headwise::HeadId> {
    std::size_t operator()(headwise::HeadId id) const noexcept
    {
        return std::hash<long long>()(static_cast<long long>(id.layer) << 32 | id.head);
    }
};
