#include "core/circuits/scan/scan_ranking.h"

#include "core/base/matrix.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <span>
#include <utility>

namespace headwise {

namespace {

constexpr auto perTile = static_cast<std::size_t>(tileLines); // lines
constexpr std::size_t atOnce = 16;                            // numbers that are compared together

struct Exact {
    double key;
    int id;
    bool operator<(const Exact& other) const
    {
        return key > other.key || (key == other.key && id < other.id);
    }
};

/// Calls `visit` with each line of a tile for which `wanted`, which is cheap, is true.
template <typename Wanted, typename Visit>
void forEachWanted(Wanted wanted, Visit visit)
{
    for (std::size_t first = 0; first < perTile; first += atOnce) {
        int any = 0;
        for (std::size_t i = 0; i < atOnce; ++i)
            any |= wanted(first + i) ? 1 : 0;
        if (any == 0)
            continue;
        for (std::size_t i = first; i < first + atOnce; ++i) {
            if (wanted(i))
                visit(i);
        }
    }
}

/// Calls `visit` with the place of each mark of ScanKernel::entries.
template <typename Visit>
void forEachMarked(const std::array<signed char, perTile>& marks, Visit visit)
{
    static_assert(std::endian::native == std::endian::little);
    for (std::size_t first = 0; first < perTile; first += sizeof(std::uint64_t)) {
        std::uint64_t eight = 0;
        std::memcpy(&eight, marks.data() + first, sizeof eight);
        while (eight != 0) {
            const int bit = std::countr_zero(eight) / 8 * 8;
            visit(first + static_cast<std::size_t>(bit) / 8);
            eight &= ~(std::uint64_t(255) << bit);
        }
    }
}

} // namespace

struct LineRanking::Candidate {
    float lower, upper; // the entry is between them
    int id;
};

/// Bounds of the entries that are the ends of one tile in the groups of the other side, in units of the tile.
class LineRanking::EndBounds {
public:
    /// \param tile one of those that have ends, from 0
    EndBounds(const LineRanking& ranking, const LineEnds& own, Eigen::Index tile)
        : m_ends(own.ends + tile * ranking.m_other->groups() * tileLines)
        , m_units(static_cast<std::size_t>(own.groups))
        , m_losses(m_units.size())
    {
        const RoundedLines& others = ranking.m_other->rounded(own.kernel.isOfBytes);
        const LineScale& scale =
            ranking.m_own->rounded(own.kernel.isOfBytes).scale(ranking.m_own->groupOf(own.firstTile + tile));
        for (std::size_t group = 0; group < m_units.size(); ++group) {
            const LineScale& other = others.scale(static_cast<Eigen::Index>(group));
            m_units[group] = static_cast<float>(own.sign) * other.unit;
            m_losses[group] = errorOf(scale, other, ranking.m_own->inner()) * other.unit;
        }
    }

    float lower(std::size_t group, std::size_t line) const
    {
        return m_ends[group * perTile + line] * m_units[group] - m_losses[group];
    }
    float upper(std::size_t group, std::size_t line) const
    {
        return m_ends[group * perTile + line] * m_units[group] + m_losses[group];
    }

    /// Returns what k ends of each line or more reach, −∞ if there are fewer.
    std::array<float, perTile> reachedBy(int k) const
    {
        constexpr std::size_t mostInserted = 64; // inserting takes k steps an end
        std::array<float, perTile> all{};
        all.fill(-std::numeric_limits<float>::infinity());
        const auto wanted = static_cast<std::size_t>(k);
        if (wanted <= mostInserted)
            insert(wanted, all);
        else if (wanted <= m_units.size())
            select(wanted, all);
        return all;
    }

private:
    /// Finds the k-th of several lines at once.
    void insert(std::size_t k, std::array<float, perTile>& all) const
    {
        std::vector<std::array<float, atOnce>> largest(k); // falling
        for (std::size_t first = 0; first < perTile; first += atOnce) {
            for (auto& one : largest)
                one.fill(-std::numeric_limits<float>::infinity());
            for (std::size_t group = 0; group < m_units.size(); ++group) {
                std::array<float, atOnce> next{};
                int any = 0;
                for (std::size_t i = 0; i < atOnce; ++i) {
                    next[i] = lower(group, first + i);
                    any |= next[i] > largest.back()[i] ? 1 : 0;
                }
                if (any == 0)
                    continue;
                for (auto& one : largest) {
                    for (std::size_t i = 0; i < atOnce; ++i) {
                        const float larger = std::max(one[i], next[i]);
                        next[i] = std::min(one[i], next[i]);
                        one[i] = larger;
                    }
                }
            }
            std::ranges::copy(largest.back(), all.begin() + static_cast<std::ptrdiff_t>(first));
        }
    }

    /// Finds the k-th of one line after the other.
    void select(std::size_t k, std::array<float, perTile>& all) const
    {
        std::vector<float> ends(m_units.size());
        for (std::size_t line = 0; line < perTile; ++line) {
            for (std::size_t group = 0; group < ends.size(); ++group)
                ends[group] = lower(group, line);
            const auto last = ends.begin() + static_cast<std::ptrdiff_t>(k) - 1;
            std::ranges::nth_element(ends, last, std::greater<>());
            all[line] = *last;
        }
    }

    const float* m_ends;                  // [groups, 64]
    std::vector<float> m_units, m_losses; // [groups]
};

/// Lines of one tile before they are ranked.
struct LineRanking::OpenTile {
    EndBounds ends;
    float toPairs;                     // from units of the tile to numbers of 16 bits
    std::array<float, perTile> ofEnds; // k ends or more reach it, in units of the tile; ∞ past the last line
    std::array<float, perTile> reached; // by k entries or more, in numbers of 16 bits; likewise
    std::vector<float> best; // [64, k], the best lower bounds of candidates, heaps with the least first
    std::array<std::vector<Candidate>, perTile> candidates;

    OpenTile(const LineRanking& ranking, const LineEnds& own, Eigen::Index tile, int k)
        : ends(ranking, own, tile)
        , ofEnds(ends.reachedBy(k))
        , reached()
        , best(perTile * static_cast<std::size_t>(k), -std::numeric_limits<float>::infinity())
    {
        const Eigen::Index group = ranking.m_own->groupOf(own.firstTile + tile);
        toPairs = ranking.m_own->rounded(own.kernel.isOfBytes).scale(group).unit
            / ranking.m_own->pairs().scale(group).unit;
        const std::size_t used = ranking.m_own->idsOf(own.firstTile + tile).size();
        std::fill(ofEnds.begin() + static_cast<std::ptrdiff_t>(used), ofEnds.end(),
                  std::numeric_limits<float>::infinity());
        std::ranges::transform(ofEnds, reached.begin(), [this](float end) { return end * toPairs; });
        for (std::size_t line = 0; line < used; ++line)
            candidates[line].reserve(2 * static_cast<std::size_t>(k));
    }

    void add(std::size_t line, const Candidate& candidate)
    {
        candidates[line].push_back(candidate);
        const std::size_t k = best.size() / perTile;
        const std::span<float> heap = std::span(best).subspan(line * k, k);
        if (candidate.lower <= heap.front())
            return;
        std::ranges::pop_heap(heap, std::greater<>());
        heap.back() = candidate.lower;
        std::ranges::push_heap(heap, std::greater<>());
        reached[line] = std::max(reached[line], heap.front());
    }
};

LineRanking::LineRanking(std::shared_ptr<const ScanLines> own, std::shared_ptr<const ScanLines> other,
                         std::function<double(int, int)> exact)
    : m_own(std::move(own))
    , m_other(std::move(other))
    , m_exact(std::move(exact))
{
}

Result<Done> LineRanking::rank(const LineEnds& own, const RankedLists& lists, const Task& task) const
{
    std::vector<OpenTile> open;
    for (Eigen::Index tile = 0; tile < own.tiles; ++tile)
        open.emplace_back(*this, own, tile, lists.k);
    // First the groups of each line whose ends are the k largest: what their entries reach spares most of the others.
    struct Doubt {
        Eigen::Index group;
        Place line;
        float upper; // no entry is above it
    };
    std::vector<Doubt> others;
    for (Eigen::Index group = 0; group < own.groups; ++group) {
        if (task.cancelled())
            return stopped();
        const auto at = static_cast<std::size_t>(group);
        for (Eigen::Index tile = 0; tile < own.tiles; ++tile) {
            OpenTile& of = open[static_cast<std::size_t>(tile)];
            forEachWanted(
                [&](std::size_t line) { return of.ends.upper(at, line) >= of.ofEnds[line]; },
                [&](std::size_t line) {
                    if (of.ends.lower(at, line) >= of.ofEnds[line])
                        collect(group, {tile, line}, own, of);
                    else
                        others.push_back({group, {tile, line}, of.ends.upper(at, line) * of.toPairs});
                });
        }
    }
    for (const Doubt& doubt : others) {
        if (task.cancelled())
            return stopped();
        OpenTile& of = open[static_cast<std::size_t>(doubt.line.tile)];
        if (doubt.upper >= of.reached[doubt.line.place])
            collect(doubt.group, doubt.line, own, of);
    }
    for (Eigen::Index tile = 0; tile < own.tiles; ++tile) {
        if (task.cancelled())
            return stopped();
        OpenTile& of = open[static_cast<std::size_t>(tile)];
        const std::span<const int> ids = m_own->idsOf(own.firstTile + tile);
        for (std::size_t line = 0; line < ids.size(); ++line) {
            std::vector<Candidate>& candidates = of.candidates[line];
            std::erase_if(candidates, [least = of.reached[line]](const Candidate& candidate) {
                return candidate.upper < least;
            });
            put(ids[line], candidates, own.sign, lists);
        }
    }
    return Done{};
}

double LineRanking::groupsInDoubt(const LineEnds& own, int k) const
{
    const EndBounds bounds(*this, own, 0);
    const std::array<float, perTile> reached = bounds.reachedBy(k);
    std::size_t count = 0;
    for (std::size_t group = 0; group < static_cast<std::size_t>(own.groups); ++group)
        forEachWanted([&](std::size_t i) { return bounds.upper(group, i) >= reached[i]; },
                      [&](std::size_t) { ++count; });
    return static_cast<double>(count) / static_cast<double>(perTile);
}

std::vector<float> LineRanking::reached(const LineEnds& own, int k) const
{
    const std::array<float, perTile> all = EndBounds(*this, own, 0).reachedBy(k);
    return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(m_own->idsOf(own.firstTile).size())};
}

Eigen::Index LineRanking::groupsReaching(const LineEnds& own, float least) const
{
    const LineScale& scale = m_own->rounded(own.kernel.isOfBytes).scale(m_own->groupOf(own.firstTile));
    const RoundedLines& others = m_other->rounded(own.kernel.isOfBytes);
    const auto reaches = [&](Eigen::Index group) {
        const LineScale& other = others.scale(group);
        return (scale.norm * other.norm + errorOf(scale, other, m_own->inner())) * other.unit >= least;
    };
    Eigen::Index end = m_other->groups();
    while (end > 0 && !reaches(end - 1))
        --end;
    return end;
}

/// Multiplies a group again with a line that needs it.
void LineRanking::collect(Eigen::Index group, const Place& line, const LineEnds& own, OpenTile& open) const
{
    constexpr float most = 0x1p30F; // no entry is as large
    const RoundedLines& others = m_other->pairs();
    const LineScale& scale = others.scale(group);
    const Eigen::Index ownTile = own.firstTile + line.tile;
    const float error = errorOf(m_own->pairs().scale(m_own->groupOf(ownTile)), scale, m_own->inner());
    const auto least =
        static_cast<int>(std::ceil(std::clamp(open.reached[line.place] / scale.unit - error, -most, most)));
    alignas(64) std::array<int, perTile> products;
    alignas(64) std::array<signed char, perTile> reaching;
    for (Eigen::Index tile = m_other->firstTile(group); tile < m_other->firstTile(group + 1); ++tile) {
        own.kernel.entries(others.tile(tile), m_own->pairs().tile(ownTile) + line.place, others.steps(),
                           {own.sign, least, products.data(), reaching.data()});
        const std::span<const int> ids = m_other->idsOf(tile);
        forEachMarked(reaching, [&](std::size_t i) {
            const auto product = static_cast<float>(products[i]);
            if (i < ids.size())
                open.add(line.place,
                         {(product - error) * scale.unit, (product + error) * scale.unit, ids[i]});
        });
    }
}

/// Ranks a line by the exact entries. \param candidates all that can be among the first k
void LineRanking::put(int own, std::span<const Candidate> candidates, int sign,
                      const RankedLists& lists) const
{
    const auto k = static_cast<std::size_t>(lists.k);
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
