#include "core/model/head_change.h"

#include <spdlog/fmt/fmt.h>

#include <charconv>

namespace headwise {

namespace {

constexpr std::string_view virtualHead = "virtual-head ", lostComponent = "without-component ";

} // namespace

std::string headChangeName(const HeadChange& change)
{
    if (change.earlier)
        return fmt::format("{}{},{}", virtualHead, dottedHead(*change.earlier), dottedHead(change.head));
    return fmt::format("{}{}:{}", lostComponent, dottedHead(change.head),
                       change.withoutComponent.value_or(0));
}

std::optional<HeadChange> parseHeadChange(std::string_view name)
{
    if (name.starts_with(virtualHead)) {
        name.remove_prefix(virtualHead.size());
        const std::size_t comma = name.find(',');
        if (comma == std::string_view::npos)
            return std::nullopt;
        const auto earlier = parseHeadId(name.substr(0, comma)), later = parseHeadId(name.substr(comma + 1));
        if (!earlier || !later)
            return std::nullopt;
        return HeadChange{*later, *earlier, {}};
    }
    if (!name.starts_with(lostComponent))
        return std::nullopt;
    name.remove_prefix(lostComponent.size());
    const std::size_t colon = name.find(':');
    if (colon == std::string_view::npos)
        return std::nullopt;
    const auto head = parseHeadId(name.substr(0, colon));
    const std::string_view digits = name.substr(colon + 1);
    int component = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), component);
    if (!head || read.ec != std::errc() || read.ptr != digits.data() + digits.size() || component < 0)
        return std::nullopt;
    return HeadChange{*head, {}, component};
}

std::string headChangeText(const HeadChange& change)
{
    if (change.earlier)
        return fmt::format("{}: virtual head {} → {}", headLabel(change.head), headLabel(*change.earlier),
                           headLabel(change.head));
    return fmt::format("{} without its singular component {}", headLabel(change.head),
                       change.withoutComponent.value_or(0) + 1);
}

} // namespace headwise
