#include "core/analysis/inputs/token_cycle.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <optional>
#include <utility>

namespace headwise {

namespace {

constexpr std::size_t shortestCycle = 4; // two frequencies
constexpr int largestCyclicVocabulary = 512;

/// Reads "7" or "0-112" as its first and last id.
std::optional<std::pair<int, int>> idsBetween(std::string_view part)
{
    const std::size_t hyphen = std::min(part.find('-'), part.size());
    const auto number = [](std::string_view digits) -> std::optional<int> {
        int value = 0;
        const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
        const bool isWhole = failure == std::errc() && end == digits.data() + digits.size();
        return isWhole ? std::optional(value) : std::nullopt;
    };
    const auto first = number(part.substr(0, hyphen));
    const auto last = hyphen < part.size() ? number(part.substr(hyphen + 1)) : first;
    if (!first || !last || *first < 0 || *last < *first)
        return std::nullopt;
    return std::pair(*first, *last);
}

} // namespace

Result<std::vector<int>> parseTokenCycle(std::string_view text)
{
    const auto wrong = [](std::string what) {
        return Error{ErrorCode::InvalidArgument,
                     "The cycle " + std::move(what)
                         + "; write its ids in order, as in 0-112 or 3321,3431,3583,3635."};
    };
    std::vector<int> ids;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t comma = std::min(text.find(',', at), text.size());
        std::string_view part = text.substr(at, comma - at);
        at = comma + 1;
        while (part.starts_with(' '))
            part.remove_prefix(1);
        const auto between = idsBetween(part);
        if (!between)
            return wrong(fmt::format("has '{}' in place of an id", part.substr(0, 40)));
        const auto [first, last] = *between;
        if (static_cast<std::size_t>(last - first) >= longestCycle || ids.size() >= longestCycle)
            return wrong(fmt::format("has more than {} ids", longestCycle));
        for (int id = first; id <= last; ++id)
            ids.push_back(id);
    }
    if (ids.size() < shortestCycle || ids.size() > longestCycle)
        return wrong(fmt::format("has {} ids, expected {} to {}", ids.size(), shortestCycle, longestCycle));
    std::vector<int> sorted = ids;
    std::ranges::sort(sorted);
    if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end())
        return wrong(fmt::format("has id {} twice", *twice));
    return ids;
}

std::string tokenCycleText(const std::vector<int>& ids)
{
    std::string text;
    for (std::size_t i = 0; i < ids.size();) {
        std::size_t end = i + 1;
        while (end < ids.size() && ids[end] == ids[end - 1] + 1)
            ++end;
        text += fmt::format("{}{}", text.empty() ? "" : ",", ids[i]);
        if (end > i + 1)
            text += fmt::format("-{}", ids[end - 1]);
        i = end;
    }
    return text;
}

std::vector<int> tokenCycleOf(const ModelConfig& config, const AnalysisOptions& options)
{
    if (!options.inputs.cycle.empty())
        return options.inputs.cycle;
    std::vector<int> ids(static_cast<std::size_t>(std::min(config.dVocab, config.dVocabOut)));
    std::iota(ids.begin(), ids.end(), 0);
    return ids;
}

std::string whyNoTokenCycle(const ModelConfig& config, const AnalysisOptions& options)
{
    const std::vector<int>& asked = options.inputs.cycle;
    if (asked.empty() && std::min(config.dVocab, config.dVocabOut) > largestCyclicVocabulary)
        return fmt::format(
            "A vocabulary of {} ids is too large for a cycle; name the ids of one (--cycle FIRST-LAST).",
            config.dVocab);
    const std::vector<int> ids = tokenCycleOf(config, options);
    if (ids.size() < shortestCycle || ids.size() > longestCycle)
        return fmt::format("A cycle needs {} to {} ids, but this one has {}.", shortestCycle, longestCycle,
                           ids.size());
    if (const int last = *std::ranges::max_element(ids); last >= config.dVocab)
        return fmt::format("The cycle has id {}, but the vocabulary ends at {}.", last, config.dVocab - 1);
    return {};
}

} // namespace headwise
