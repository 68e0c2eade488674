#include "core/model/head_list.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <sstream>

namespace headwise {

namespace {

/// One side of "L.H": a number below `count`, or a star for all.
std::optional<std::vector<int>> range(std::string_view text, int count)
{
    std::vector<int> all;
    if (text == "*") {
        for (int i = 0; i < count; ++i)
            all.push_back(i);
        return all;
    }
    int value = -1;
    const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
    if (end.ec != std::errc() || end.ptr != text.data() + text.size() || value < 0)
        return std::nullopt;
    return std::vector<int>{value};
}

std::optional<std::vector<HeadId>> headsOf(const std::string& part, int nLayers, int nHeads)
{
    if (const auto head = parseHeadId(part))
        return std::vector<HeadId>{*head};
    const auto dot = part.find('.');
    if (dot == std::string::npos)
        return std::nullopt;
    const auto layers = range(std::string_view(part).substr(0, dot), nLayers);
    const auto heads = range(std::string_view(part).substr(dot + 1), nHeads);
    if (!layers || !heads)
        return std::nullopt;
    std::vector<HeadId> out;
    for (const int layer : *layers) {
        for (const int head : *heads)
            out.push_back({layer, head});
    }
    return out;
}

std::string trimmed(const std::string& part)
{
    const auto first = part.find_first_not_of(' ');
    return first == std::string::npos ? std::string()
                                      : part.substr(first, part.find_last_not_of(' ') + 1 - first);
}

} // namespace

Result<std::vector<HeadId>> parseHeads(const std::string& text, int nLayers, int nHeads)
{
    std::vector<HeadId> heads;
    std::istringstream parts(text);
    for (std::string part; std::getline(parts, part, ',');) {
        part = trimmed(part);
        const auto found = headsOf(part, nLayers, nHeads);
        if (!found) {
            return Error{
                ErrorCode::InvalidArgument,
                fmt::format("'{}' is not a head; write LAYER.HEAD, as in 0.1,2.* (a star stands for all).",
                            part)};
        }
        for (const HeadId head : *found) {
            if (head.layer >= nLayers || head.head >= nHeads) {
                return Error{
                    ErrorCode::InvalidArgument,
                    fmt::format("There is no head {}: this model has layers 0 to {} with heads 0 to {}.",
                                dottedHead(head), nLayers - 1, nHeads - 1)};
            }
            heads.push_back(head);
        }
    }
    if (heads.empty())
        return Error{ErrorCode::InvalidArgument,
                     "No head is named; write LAYER.HEAD, as in 0.1,2.* (a star stands for all)."};
    std::sort(heads.begin(), heads.end());
    heads.erase(std::unique(heads.begin(), heads.end()), heads.end());
    return heads;
}

std::string headNames(const std::vector<HeadId>& heads)
{
    std::string names;
    for (const HeadId head : heads)
        names += (names.empty() ? "" : ", ") + dottedHead(head);
    return names;
}

} // namespace headwise
