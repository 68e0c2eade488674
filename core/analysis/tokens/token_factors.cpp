#include "core/analysis/tokens/token_factors.h"

#include "core/analysis/inputs/token_counts.h"
#include "core/tokenizer/tokenizer.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

namespace headwise {

namespace {

std::string lower(std::string_view text)
{
    std::string out(text);
    for (char& c : out)
        c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return out;
}

bool isAscii(std::string_view text)
{
    return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 128; });
}

/// Returns the single token of `text`. `word` is the text without surrounding spaces.
std::optional<int> singleToken(const Tokenizer& tokenizer, const std::string& text, std::string_view word)
{
    const auto ids = tokenizer.encode(text, Tokenizer::SpecialTokens::None);
    if (!ids) {
        const auto found = tokenizer.find(text);
        return found && tokenizer.bytes(*found) == text ? std::optional(*found) : std::nullopt;
    }
    if (ids->size() != 1 || tokenizer.isSpecial(ids->front()))
        return std::nullopt;
    // The token for unknown words may not be marked as special.
    if (isAscii(word) && lower(tokenizer.bytes(ids->front())).find(lower(word)) == std::string::npos)
        return std::nullopt;
    return ids->front();
}

/// Returns the ids below `count` that are in use, rising.
std::vector<int> usedTokens(Eigen::Index count, const std::vector<bool>& unused)
{
    std::vector<int> ids;
    const std::vector<bool> marks = sizedMarks(unused, count);
    for (int id = 0; id < count; ++id) {
        if (marks.empty() || !marks[static_cast<std::size_t>(id)])
            ids.push_back(id);
    }
    return ids;
}

} // namespace

bool isUnusedToken(const std::vector<bool>& unused, int id)
{
    const auto at = static_cast<std::size_t>(id);
    return !unused.empty() && (at >= unused.size() || unused[at]);
}

std::vector<bool> sizedMarks(const std::vector<bool>& unused, Eigen::Index count)
{
    std::vector<bool> sized = unused;
    if (!sized.empty())
        sized.resize(static_cast<std::size_t>(count), true);
    return sized;
}

std::vector<int> sampledTokens(Eigen::Index count, const std::vector<bool>& unused, std::size_t limit,
                               std::uint64_t seed)
{
    std::vector<int> ids = usedTokens(count, unused);
    if (ids.size() <= limit)
        return ids;
    std::mt19937_64 random(seed);
    for (std::size_t i = 0; i < limit; ++i)
        std::swap(ids[i], ids[i + random() % (ids.size() - i)]);
    ids.resize(limit);
    std::sort(ids.begin(), ids.end());
    return ids;
}

std::vector<int> tokensSampledByCount(Eigen::Index count, const std::vector<bool>& unused,
                                      const TokenCounts& counts, std::size_t limit, std::uint64_t seed)
{
    std::vector<int> ids = usedTokens(count, unused);
    if (ids.size() <= limit)
        return ids;
    struct Draw {
        bool isWithout; ///< A count.
        double time;    ///< When it arrives; exponential, of a rate in proportion to the count.
        int id;

        auto operator<=>(const Draw&) const = default;
    };
    std::vector<Draw> draws;
    draws.reserve(ids.size());
    std::mt19937_64 random(seed);
    for (const int id : ids) {
        const double even = (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53; // in (0, 1)
        const double weight = counts.of(id);
        draws.push_back({weight <= 0, -std::log(even) / (weight > 0 ? weight / counts.total() : 1), id});
    }
    std::nth_element(draws.begin(), draws.begin() + static_cast<std::ptrdiff_t>(limit), draws.end());
    for (std::size_t i = 0; i < limit; ++i)
        ids[i] = draws[i].id;
    ids.resize(limit);
    std::sort(ids.begin(), ids.end());
    return ids;
}

WordTokens wordTokens(const Tokenizer& tokenizer, std::string_view word)
{
    const std::string bare(word);
    return {singleToken(tokenizer, " " + bare, word), singleToken(tokenizer, bare, word)};
}

} // namespace headwise
