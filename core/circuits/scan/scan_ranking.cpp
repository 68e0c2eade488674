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

/// Puts the first of some entries of a line into its place of the lists.
void put(int line, int sign, std::vector<Exact>& entries, const RankedLists& lists)
{
    const auto k = static_cast<std::size_t>(lists.k);
    const std::size_t listed = std::min(k, entries.size());
    std::partial_sort(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(listed), entries.end());
    for (std::size_t i = 0; i < listed; ++i) {
        lists.ids[static_cast<std::size_t>(line) * k + i] = entries[i].id;
        lists.values[static_cast<std::size_t>(line) * k + i] = sign * entries[i].key;
    }
}

/// Finds the k-th largest of `count` numbers of 16 lines at once, which takes k steps a number.
template <typename Number>
std::array<float, atOnce> insertedKth(std::size_t k, std::size_t count, const Number& number)
{
    std::array<float, atOnce> lowest{};
    lowest.fill(-std::numeric_limits<float>::infinity());
    std::vector<std::array<float, atOnce>> largest(k, lowest); // falling
    for (std::size_t at = 0; at < count; ++at) {
        std::array<float, atOnce> next{};
        int any = 0;
        for (std::size_t i = 0; i < atOnce; ++i) {
            next[i] = number(at, i);
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
    return largest.back();
}

/// Returns the k-th largest of `count` numbers of each line of a tile, −∞ if there are fewer. \param number the at-th of a line
template <typename Number>
std::array<float, perTile> kthOfLines(std::size_t k, std::size_t count, const Number& number)
{
    constexpr std::size_t mostInserted = 64;
    std::array<float, perTile> all{};
    all.fill(-std::numeric_limits<float>::infinity());
    if (k > count)
        return all;
    if (k <= mostInserted) {
        for (std::size_t first = 0; first < perTile; first += atOnce) {
            const auto some =
                insertedKth(k, count, [&](std::size_t at, std::size_t i) { return number(at, first + i); });
            std::ranges::copy(some, all.begin() + static_cast<std::ptrdiff_t>(first));
        }
        return all;
    }
    std::vector<float> numbers(count);
    for (std::size_t line = 0; line < perTile; ++line) {
        for (std::size_t at = 0; at < count; ++at)
            numbers[at] = number(at, line);
        const auto last = numbers.begin() + static_cast<std::ptrdiff_t>(k) - 1;
        std::ranges::nth_element(numbers, last, std::greater<>());
        all[line] = *last;
    }
    return all;
}

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
    std::array<float, perTile> reachedBy(std::size_t k) const
    {
        return kthOfLines(k, m_units.size(),
                          [this](std::size_t group, std::size_t line) { return lower(group, line); });
    }

private:
    const float* m_ends;                  // [groups, 64]
    std::vector<float> m_units, m_losses; // [groups]
};

/// Exact entries of one line after the other.
class LineRanking::ExactLine {
public:
    ExactLine(const ScanSide& own, const ScanSide& other)
        : m_ownSide(own)
        , m_otherSide(other)
    {
    }

    void begin(int own)
    {
        if (m_ownSide.exact.size() > 0)
            m_own = m_ownSide.exact.col(own);
        else
            m_own = m_ownSide.factors.col(own).cast<double>();
    }
    double entry(int other) const
    {
        return m_otherSide.exact.size() > 0 ? m_own.dot(m_otherSide.exact.col(other))
                                            : m_own.dot(m_otherSide.factors.col(other).cast<double>());
    }
    /// Asks for what `entry` will read.
    void expect(int other) const
    {
        if (m_otherSide.exact.size() > 0)
            expectColumn(m_otherSide.exact.col(other));
        else
            expectColumn(m_otherSide.factors.col(other));
    }

private:
    template <typename Column>
    static void expectColumn(const Column& column)
    {
        constexpr Eigen::Index line = 64 / sizeof(typename Column::Scalar); // of the cache
        for (Eigen::Index i = 0; i < column.size(); i += line)
            __builtin_prefetch(column.data() + i);
    }

    const ScanSide& m_ownSide;
    const ScanSide& m_otherSide;
    Eigen::VectorXd m_own;
};

/// Lines of one tile before they are ranked.
struct LineRanking::OpenTile {
    EndBounds ends;
    std::vector<int> words;            // [64, steps], in numbers of 16 bits
    float toPairs;                     // from units of the tile to numbers of 16 bits
    std::array<float, perTile> ofEnds; // k ends or more reach it, in units of the tile; ∞ past the last line
    std::array<float, perTile> reached; // by k entries or more, in numbers of 16 bits; likewise
    std::array<std::vector<Candidate>, perTile> candidates;

    OpenTile(const LineRanking& ranking, const LineEnds& own, Eigen::Index tile, int k)
        : ends(ranking, own, tile)
        , words(ranking.m_own->pairs().byLine(own.firstTile + tile))
        , ofEnds(ends.reachedBy(static_cast<std::size_t>(k)))
        , reached()
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

    /// Raises what lines must reach to what k of their candidates reach.
    void raise(std::size_t k)
    {
        const auto most = std::ranges::max(candidates, {}, &std::vector<Candidate>::size).size();
        const auto byCandidates = kthOfLines(k, most, [this](std::size_t at, std::size_t line) {
            const std::vector<Candidate>& own = candidates[line];
            return at < own.size() ? own[at].lower : -std::numeric_limits<float>::infinity();
        });
        std::ranges::transform(reached, byCandidates, reached.begin(),
                               [](float one, float other) { return std::max(one, other); });
    }
};

LineRanking::LineRanking(const Side& own, const Side& other)
    : m_own(own.lines)
    , m_other(other.lines)
    , m_ownExact(&own.unrounded)
    , m_otherExact(&other.unrounded)
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
    for (OpenTile& of : open)
        of.raise(static_cast<std::size_t>(lists.k));
    for (const Doubt& doubt : others) {
        if (task.cancelled())
            return stopped();
        OpenTile& of = open[static_cast<std::size_t>(doubt.line.tile)];
        if (doubt.upper >= of.reached[doubt.line.place])
            collect(doubt.group, doubt.line, own, of);
    }
    ExactLine exact(*m_ownExact, *m_otherExact);
    std::vector<Exact> entries;
    for (Eigen::Index tile = 0; tile < own.tiles; ++tile) {
        if (task.cancelled())
            return stopped();
        OpenTile& of = open[static_cast<std::size_t>(tile)];
        const std::span<const int> ids = m_own->idsOf(own.firstTile + tile);
        for (std::size_t line = 0; line < ids.size(); ++line) {
            for (const Candidate& candidate : of.candidates[line])
                exact.expect(candidate.id);
            exact.begin(ids[line]);
            entries.clear();
            for (const Candidate& candidate : of.candidates[line]) {
                if (candidate.upper >= of.reached[line])
                    entries.push_back({own.sign * exact.entry(candidate.id), candidate.id});
            }
            put(ids[line], own.sign, entries, lists);
        }
    }
    return Done{};
}

double LineRanking::groupsInDoubt(const LineEnds& own, int k) const
{
    const EndBounds bounds(*this, own, 0);
    const std::array<float, perTile> reached = bounds.reachedBy(static_cast<std::size_t>(k));
    std::size_t count = 0;
    for (std::size_t group = 0; group < static_cast<std::size_t>(own.groups); ++group)
        forEachWanted([&](std::size_t i) { return bounds.upper(group, i) >= reached[i]; },
                      [&](std::size_t) { ++count; });
    return static_cast<double>(count) / static_cast<double>(perTile);
}

std::vector<float> LineRanking::reached(const LineEnds& own, int k) const
{
    const std::array<float, perTile> all = EndBounds(*this, own, 0).reachedBy(static_cast<std::size_t>(k));
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
        own.kernel.entries(others.tile(tile),
                           open.words.data() + static_cast<std::ptrdiff_t>(line.place) * others.steps(),
                           others.steps(), {own.sign, least, products.data(), reaching.data()});
        const std::span<const int> ids = m_other->idsOf(tile);
        forEachMarked(reaching, [&](std::size_t i) {
            const auto product = static_cast<float>(products[i]);
            if (i < ids.size())
                open.candidates[line.place].push_back(
                    {(product - error) * scale.unit, (product + error) * scale.unit, ids[i]});
        });
    }
}

} // namespace headwise
