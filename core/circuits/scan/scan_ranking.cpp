#include "core/circuits/scan/scan_ranking.h"

#include "core/base/matrix.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <utility>

namespace headwise {

namespace {

/// Lower bounds of the ends of one line with the largest of every few, so that most are passed over. Every `m_largest.size()`-th group is
/// one of the few, so that all of these are found at once.
class LineKeys {
public:
    /// \param lower no end is further above its bound than its `spread`, which falls
    LineKeys(const Eigen::VectorXf& lower, const Eigen::VectorXf& spread)
        : m_lower(lower)
        , m_spread(spread)
        , m_largest(lower.head((lower.size() + few - 1) / few))
    {
        const Eigen::Index step = m_largest.size();
        for (Eigen::Index first = step; first < lower.size(); first += step) {
            const Eigen::Index count = std::min(step, lower.size() - first);
            m_largest.head(count) = m_largest.head(count).cwiseMax(lower.segment(first, count));
        }
    }

    /// Returns what the ends of k groups or more reach, −∞ if there are fewer.
    float reachedBy(std::size_t k) const
    {
        if (static_cast<std::size_t>(m_lower.size()) < k)
            return -std::numeric_limits<float>::infinity();
        float common = -std::numeric_limits<float>::infinity();
        if (static_cast<std::size_t>(m_largest.size()) >= k)
            common = select(m_largest, k);
        std::vector<float> reaching;
        reaching.reserve(static_cast<std::size_t>(m_lower.size()));
        forEachOf([&](Eigen::Index i) { return m_largest(i) >= common; },
                  [&](Eigen::Index group) {
                      if (m_lower(group) >= common)
                          reaching.push_back(m_lower(group));
                  });
        return select(std::move(reaching), k);
    }

    /// Calls `visit` with each group whose end may reach `key`.
    template <typename Visit>
    void forEachThatMayReach(float key, Visit visit) const
    {
        forEachOf([&](Eigen::Index i) { return m_largest(i) + m_spread(i) >= key; },
                  [&](Eigen::Index group) {
                      if (m_lower(group) + m_spread(group) >= key)
                          visit(group);
                  });
    }

private:
    static constexpr Eigen::Index few = 8;

    /// Calls `visit` with each group of the few that are `wanted`.
    template <typename Wanted, typename Visit>
    void forEachOf(Wanted wanted, Visit visit) const
    {
        for (Eigen::Index i = 0; i < m_largest.size(); ++i) {
            if (!wanted(i))
                continue;
            for (Eigen::Index group = i; group < m_lower.size(); group += m_largest.size())
                visit(group);
        }
    }

    template <typename Numbers>
    static float select(Numbers numbers, std::size_t k)
    {
        float* last = numbers.data() + k - 1;
        std::nth_element(numbers.data(), last, numbers.data() + numbers.size(), std::greater<>());
        return *last;
    }

    const Eigen::VectorXf& m_lower;
    const Eigen::VectorXf& m_spread;
    Eigen::VectorXf m_largest;
};

struct Exact {
    double key;
    int id;
    bool operator<(const Exact& other) const
    {
        return key > other.key || (key == other.key && id < other.id);
    }
};

constexpr std::size_t entriesAtOnce = 16;

/// Whether one of the next few entries reaches `least`.
bool reaches(const int* entries, float sign, float least)
{
    int any = 0;
    for (std::size_t i = 0; i < entriesAtOnce; ++i)
        any |= sign * static_cast<float>(entries[i]) >= least ? 1 : 0;
    return any != 0;
}

} // namespace

struct LineRanking::Candidate {
    float lower, upper; // the entry is between them
    int id;
};
/// State of one line before it is ranked.
struct LineRanking::Open {
    float reached = 0; // by k entries or more, in numbers of 16 bits
    std::vector<Candidate> candidates;
};
/// A line of which a group can hold one of the first k entries, none of them above `upper`.
struct LineRanking::Doubt {
    int line;
    float upper;
};
/// For each group of the other side the lines that need it. `first` has the k groups of each line whose ends are the largest; what their entries
/// reach spares most of the `rest`.
struct LineRanking::Doubts {
    std::vector<std::vector<Doubt>> first, rest;
};

/// The groups of the other side that have ends, as a tile of own lines meets them.
struct LineRanking::OtherScales {
    Eigen::VectorXf units, errors;

    OtherScales(const RoundedLines& others, const LineScale& own, Eigen::Index groups, Eigen::Index inner)
        : units(groups)
        , errors(groups)
    {
        for (Eigen::Index group = 0; group < groups; ++group) {
            units(group) = others.scale(group).unit;
            errors(group) = errorOf(own, others.scale(group), inner);
        }
    }

    /// Lower bounds of the ends of a line. \param ends of the line
    Eigen::VectorXf lower(const float* ends, int sign) const
    {
        const Eigen::Map<const Eigen::ArrayXf> all(ends, units.size());
        return (static_cast<float>(sign) * all - errors.array()) * units.array();
    }
};

LineRanking::LineRanking(const ScanLines& own, const ScanLines& other, std::function<double(int, int)> exact)
    : m_own(own)
    , m_other(other)
    , m_exact(std::move(exact))
{
}

Result<Done> LineRanking::rank(const LineEnds& own, const RankedLists& lists, const Task& task) const
{
    std::vector<Open> open(static_cast<std::size_t>(own.tiles * tileLines));
    const Doubts doubts = choose(own, lists.k, open);
    if (!collect(doubts.first, own, open, task))
        return stopped();
    for (Open& line : open)
        line.reached = std::max(line.reached, reachedBy(line.candidates, lists.k));
    if (!collect(doubts.rest, own, open, task))
        return stopped();
    for (std::size_t i = 0; i < open.size(); ++i) {
        if (task.cancelled())
            return stopped();
        const std::span<const int> ids =
            m_own.idsOf(own.firstTile + static_cast<Eigen::Index>(i) / tileLines);
        if (i % tileLines < ids.size())
            put(ids[i % tileLines], std::move(open[i].candidates), own.sign, lists);
    }
    return Done{};
}

double LineRanking::groupsInDoubt(const LineEnds& own, int k) const
{
    std::vector<Open> open(static_cast<std::size_t>(own.tiles * tileLines));
    const Doubts doubts = choose(own, k, open);
    double count = 0;
    for (const auto* groups : {&doubts.first, &doubts.rest}) {
        for (const auto& lines : *groups)
            count += static_cast<double>(lines.size());
    }
    return count / static_cast<double>(open.size());
}

std::vector<float> LineRanking::reached(const LineEnds& own, int k) const
{
    const LineScale& scale = m_own.rounded(own.kernel.isOfBytes).scale(m_own.groupOf(own.firstTile));
    const OtherScales scales(m_other.rounded(own.kernel.isOfBytes), scale, own.groups, m_own.inner());
    const Eigen::VectorXf noSpread = Eigen::VectorXf::Zero(own.groups);
    std::vector<float> all(m_own.idsOf(own.firstTile).size());
    for (std::size_t line = 0; line < all.size(); ++line) {
        const Eigen::VectorXf lower =
            scales.lower(own.ends + static_cast<Eigen::Index>(line) * m_other.stride(), own.sign);
        all[line] = LineKeys(lower, noSpread).reachedBy(static_cast<std::size_t>(k));
    }
    return all;
}

Eigen::Index LineRanking::groupsReaching(const LineEnds& own, float least) const
{
    const LineScale& scale = m_own.rounded(own.kernel.isOfBytes).scale(m_own.groupOf(own.firstTile));
    const RoundedLines& others = m_other.rounded(own.kernel.isOfBytes);
    const auto reaches = [&](Eigen::Index group) {
        const LineScale& other = others.scale(group);
        return (scale.norm * other.norm + errorOf(scale, other, m_own.inner())) * other.unit >= least;
    };
    Eigen::Index end = m_other.groups();
    while (end > 0 && !reaches(end - 1))
        --end;
    return end;
}

LineRanking::Doubts LineRanking::choose(const LineEnds& own, int k, std::vector<Open>& open) const
{
    const RoundedLines& ownLines = m_own.rounded(own.kernel.isOfBytes);
    const RoundedLines& others = m_other.rounded(own.kernel.isOfBytes);
    const Eigen::Index groups = own.groups;
    Doubts doubts;
    doubts.first.resize(static_cast<std::size_t>(groups));
    doubts.rest.resize(static_cast<std::size_t>(groups));
    Eigen::VectorXf spread(groups);
    for (Eigen::Index i = 0; i < own.tiles; ++i) {
        const Eigen::Index ownGroup = m_own.groupOf(own.firstTile + i);
        const LineScale& scale = ownLines.scale(ownGroup);
        const OtherScales scales(others, scale, groups, m_own.inner());
        float widest = 0;
        for (Eigen::Index group = groups - 1; group >= 0; --group) {
            widest = std::max(widest, 2 * scales.errors(group) * scales.units(group));
            spread(group) = widest;
        }
        const float toPairs = scale.unit / m_own.pairs().scale(ownGroup).unit;
        const auto count = static_cast<Eigen::Index>(m_own.idsOf(own.firstTile + i).size());
        for (Eigen::Index line = i * tileLines; line < i * tileLines + count; ++line) {
            const Eigen::VectorXf lower = scales.lower(own.ends + line * m_other.stride(), own.sign);
            const LineKeys keys(lower, spread);
            const float reached = keys.reachedBy(static_cast<std::size_t>(k));
            keys.forEachThatMayReach(reached, [&](Eigen::Index group) {
                auto& lines = lower(group) >= reached ? doubts.first : doubts.rest;
                lines[static_cast<std::size_t>(group)].push_back(
                    {static_cast<int>(line), (lower(group) + spread(group)) * toPairs});
            });
            open[static_cast<std::size_t>(line)].reached = reached * toPairs;
        }
    }
    return doubts;
}

/// Returns what k of the candidates or more reach, −∞ if there are fewer.
float LineRanking::reachedBy(std::vector<Candidate>& candidates, int k)
{
    if (candidates.size() < static_cast<std::size_t>(k))
        return -std::numeric_limits<float>::infinity();
    const auto last = candidates.begin() + k - 1;
    std::ranges::nth_element(candidates, last, std::greater<>(), &Candidate::lower);
    return last->lower;
}

/// Multiplies groups again with the lines that need it. Returns false if the task was cancelled.
bool LineRanking::collect(const std::vector<std::vector<Doubt>>& groups, const LineEnds& own,
                          std::vector<Open>& open, const Task& task) const
{
    for (std::size_t group = 0; group < groups.size(); ++group) {
        if (task.cancelled())
            return false;
        collect(static_cast<Eigen::Index>(group), groups[group], own, open);
    }
    return true;
}

void LineRanking::collect(Eigen::Index group, const std::vector<Doubt>& doubts, const LineEnds& own,
                          std::vector<Open>& open) const
{
    const auto sign = static_cast<float>(own.sign);
    const RoundedLines& others = m_other.pairs();
    const LineScale& scale = others.scale(group);
    alignas(64) std::array<int, tileLines> entries{};
    for (const auto& [index, upper] : doubts) {
        Open& line = open[static_cast<std::size_t>(index)];
        if (upper < line.reached)
            continue;
        const Eigen::Index ownTile = own.firstTile + index / tileLines;
        const int* const factors = m_own.pairs().tile(ownTile) + index % tileLines;
        const float error = errorOf(m_own.pairs().scale(m_own.groupOf(ownTile)), scale, m_own.inner());
        const float least = line.reached / scale.unit - error;
        for (Eigen::Index tile = m_other.firstTile(group); tile < m_other.firstTile(group + 1); ++tile) {
            own.kernel.entries(others.tile(tile), factors, others.steps(), entries.data());
            const std::span<const int> ids = m_other.idsOf(tile);
            for (std::size_t first = 0; first < ids.size(); first += entriesAtOnce) {
                if (!reaches(&entries[first], sign, least))
                    continue;
                for (std::size_t i = first; i < std::min(first + entriesAtOnce, ids.size()); ++i) {
                    const float entry = sign * static_cast<float>(entries[i]);
                    if (entry >= least)
                        line.candidates.push_back(
                            {(entry - error) * scale.unit, (entry + error) * scale.unit, ids[i]});
                }
            }
        }
    }
}

void LineRanking::put(int own, std::vector<Candidate> candidates, int sign, const RankedLists& lists) const
{
    const auto k = static_cast<std::size_t>(lists.k);
    const float reached = reachedBy(candidates, lists.k);
    std::erase_if(candidates, [&](const Candidate& candidate) { return candidate.upper < reached; });
    std::vector<Exact> entries;
    entries.reserve(candidates.size());
    for (const Candidate& candidate : candidates)
        entries.push_back({sign * m_exact(own, candidate.id), candidate.id});
    const std::size_t listed = std::min(k, entries.size());
    std::partial_sort(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(listed), entries.end());
    for (std::size_t i = 0; i < listed; ++i) {
        lists.ids[static_cast<std::size_t>(own) * k + i] = entries[i].id;
        lists.values[static_cast<std::size_t>(own) * k + i] = sign * entries[i].key;
    }
}

} // namespace headwise
