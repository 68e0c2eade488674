#include "core/circuits/scan/token_scan.h"

#include "core/base/matrix.h"
#include "core/base/parallel.h"
#include "core/circuits/scan/scan_kernel.h"
#include "core/circuits/scan/scan_lines.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <span>
#include <utility>

namespace headwise {

namespace {

constexpr Eigen::Index tileLines = ScanKernel::lines;
constexpr Eigen::Index tilesOfBlock = 8; // of rows at once: they stay in the second-level cache

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

/// Where the ranked entries of lines go, and how many.
struct Lists {
    int k;
    std::vector<int>& ids;
    std::vector<double>& values;
};

/// The ends of the lines of some tiles in each group of the other side.
struct LineEnds {
    Eigen::Index firstTile, tiles;
    const float* ends;        // of line after line, `stride` apart
    int sign;                 // 1: the largest, −1: the smallest
    const ScanKernel& kernel; // that took them
};

/// Ranks the entries of lines by the ends of each line in the groups of the other side.
///
/// Rounding moves an entry by no more than a known error. The k-th largest of the ends less their errors is therefore reached by k entries, and
/// only groups whose ends with their errors reach it can hold one of the first k. Their entries are computed again, those that can be
/// among the first k exactly.
class Ranking {
public:
    /// \param exact of a line and one of the other side, by their ids
    Ranking(const ScanLines& own, const ScanLines& other, std::function<double(int, int)> exact)
        : m_own(own)
        , m_other(other)
        , m_exact(std::move(exact))
    {
    }

    Result<Done> rank(const LineEnds& own, const Lists& lists, const Task& task) const
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

    /// Returns how many groups have to be multiplied again per line, on average.
    double groupsInDoubt(const LineEnds& own, int k) const
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

private:
    struct Candidate {
        float lower, upper; // the entry is between them
        int id;
    };
    /// State of one line before it is ranked.
    struct Open {
        float reached = 0; // by k entries or more, in numbers of 16 bits
        std::vector<Candidate> candidates;
    };
    /// A line of which a group can hold one of the first k entries, none of them above `upper`.
    struct Doubt {
        int line;
        float upper;
    };
    /// For each group of the other side the lines that need it. `first` has the k groups of each line whose ends are the largest; what their entries
    /// reach spares most of the `rest`.
    struct Doubts {
        std::vector<std::vector<Doubt>> first, rest;
    };
    struct Exact {
        double key;
        int id;
        bool operator<(const Exact& other) const
        {
            return key > other.key || (key == other.key && id < other.id);
        }
    };

    Doubts choose(const LineEnds& own, int k, std::vector<Open>& open) const
    {
        const RoundedLines& ownLines = m_own.rounded(own.kernel.isOfBytes);
        const RoundedLines& others = m_other.rounded(own.kernel.isOfBytes);
        const Eigen::Index groups = m_other.groups();
        Doubts doubts;
        doubts.first.resize(static_cast<std::size_t>(groups));
        doubts.rest.resize(static_cast<std::size_t>(groups));
        Eigen::VectorXf units(groups), errors(groups), spread(groups), lower;
        for (Eigen::Index i = 0; i < own.tiles; ++i) {
            const Eigen::Index ownGroup = m_own.groupOf(own.firstTile + i);
            const LineScale& scale = ownLines.scale(ownGroup);
            float widest = 0;
            for (Eigen::Index group = groups - 1; group >= 0; --group) {
                units(group) = others.scale(group).unit;
                errors(group) = errorOf(scale, others.scale(group), m_own.inner());
                widest = std::max(widest, 2 * errors(group) * units(group));
                spread(group) = widest;
            }
            const float toPairs = scale.unit / m_own.pairs().scale(ownGroup).unit;
            const auto count = static_cast<Eigen::Index>(m_own.idsOf(own.firstTile + i).size());
            for (Eigen::Index line = i * tileLines; line < i * tileLines + count; ++line) {
                const Eigen::Map<const Eigen::ArrayXf> ends(own.ends + line * m_other.stride(), groups);
                lower = (static_cast<float>(own.sign) * ends - errors.array()) * units.array();
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
    static float reachedBy(std::vector<Candidate>& candidates, int k)
    {
        if (candidates.size() < static_cast<std::size_t>(k))
            return -std::numeric_limits<float>::infinity();
        const auto last = candidates.begin() + k - 1;
        std::ranges::nth_element(candidates, last, std::greater<>(), &Candidate::lower);
        return last->lower;
    }

    /// Multiplies groups again with the lines that need it. Returns false if the task was cancelled.
    bool collect(const std::vector<std::vector<Doubt>>& groups, const LineEnds& own, std::vector<Open>& open,
                 const Task& task) const
    {
        for (std::size_t group = 0; group < groups.size(); ++group) {
            if (task.cancelled())
                return false;
            collect(static_cast<Eigen::Index>(group), groups[group], own, open);
        }
        return true;
    }
    void collect(Eigen::Index group, const std::vector<Doubt>& doubts, const LineEnds& own,
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
                for (std::size_t first = 0; first < ids.size(); first += few) {
                    if (!reaches(&entries[first], sign, least))
                        continue;
                    for (std::size_t i = first; i < std::min(first + few, ids.size()); ++i) {
                        const float entry = sign * static_cast<float>(entries[i]);
                        if (entry >= least)
                            line.candidates.push_back(
                                {(entry - error) * scale.unit, (entry + error) * scale.unit, ids[i]});
                    }
                }
            }
        }
    }

    static constexpr std::size_t few = 16;

    /// Whether one of the next few entries reaches `least`.
    static bool reaches(const int* entries, float sign, float least)
    {
        int any = 0;
        for (std::size_t i = 0; i < few; ++i)
            any |= sign * static_cast<float>(entries[i]) >= least ? 1 : 0;
        return any != 0;
    }

    void put(int own, std::vector<Candidate> candidates, int sign, const Lists& lists) const
    {
        const auto k = static_cast<std::size_t>(lists.k);
        const float reached = reachedBy(candidates, lists.k);
        std::erase_if(candidates, [&](const Candidate& candidate) { return candidate.upper < reached; });
        std::vector<Exact> entries;
        entries.reserve(candidates.size());
        for (const Candidate& candidate : candidates)
            entries.push_back({sign * m_exact(own, candidate.id), candidate.id});
        const std::size_t listed = std::min(k, entries.size());
        std::partial_sort(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(listed),
                          entries.end());
        for (std::size_t i = 0; i < listed; ++i) {
            lists.ids[static_cast<std::size_t>(own) * k + i] = entries[i].id;
            lists.values[static_cast<std::size_t>(own) * k + i] = sign * entries[i].key;
        }
    }

    const ScanLines& m_own;
    const ScanLines& m_other;
    std::function<double(int, int)> m_exact;
};

/// Returns the fastest kernel for numbers of 16 bits.
const ScanKernel& kernelOfPairs()
{
    return *std::ranges::find(scanKernels(), false, &ScanKernel::isOfBytes);
}

/// Multiplies all rows with all columns and ranks the ends.
class Scan {
public:
    Scan(const RowScan& scan, ScanLines rows, ScanLines columns, RowEnds& out)
        : m_scan(scan)
        , m_rows(std::move(rows))
        , m_columns(std::move(columns))
        , m_out(out)
        , m_byRow(m_rows, m_columns, scan.exact)
        , m_byColumn(m_columns, m_rows, [&scan](int column, int row) { return scan.exact(row, column); })
    {
        if (scan.ends == ScanEnds::BothAndColumns)
            m_ofColumns.assign(static_cast<std::size_t>(m_columns.tiles() * tileLines * m_rows.stride()),
                               -std::numeric_limits<float>::infinity());
    }

    /// \param fastest of the kernels for which there are numbers
    Result<Done> run(const ScanKernel& fastest, const Task& task)
    {
        const auto suffices = fastest.isOfBytes ? bytesSuffice(fastest, task) : Result<bool>(true);
        if (!suffices)
            return suffices.error();
        const ScanKernel& kernel = *suffices ? fastest : kernelOfPairs();
        const Eigen::Index blocks =
            (m_rows.tiles() / tilesOfBlock + 4) / 4 * 4; // so that few cores share them evenly
        const Eigen::Index perBlock = (m_rows.groups() + blocks - 1) / blocks; // groups
        const auto done =
            parallelFor(static_cast<int>(blocks), task, "blocks of tokens", [&](int block) -> Result<Done> {
                const Eigen::Index first = m_rows.firstTile(block * perBlock);
                return runBlock(first, m_rows.firstTile((block + 1) * perBlock) - first, kernel, task);
            });
        if (!done || m_ofColumns.empty())
            return done;
        const Eigen::Index columnBlocks = (m_columns.tiles() + tilesOfBlock - 1) / tilesOfBlock;
        return parallelFor(static_cast<int>(columnBlocks), task, "lists of columns",
                           [&](int block) -> Result<Done> {
                               const Eigen::Index first = block * tilesOfBlock;
                               const Eigen::Index count = std::min(tilesOfBlock, m_columns.tiles() - first);
                               return m_byColumn.rank({first, count, endsOfColumns(first), 1, kernel},
                                                      {m_scan.k, m_out.columnIds, m_out.columnValues}, task);
                           });
    }

private:
    /// The ends of the rows of some tiles in each tile of columns.
    struct RowTileEnds {
        std::vector<float> largest, smallest;
    };

    /// Returns whether rounding to bytes leaves little to multiply again, as a tile of rows shows.
    Result<bool> bytesSuffice(const ScanKernel& kernel, const Task& task)
    {
        const Eigen::Index middle = m_rows.tiles() / 2;
        const auto ends = multiply(middle, 1, kernel, false, task);
        if (!ends)
            return ends.error();
        const double inDoubt = m_byRow.groupsInDoubt({middle, 1, ends->largest.data(), 1, kernel}, m_scan.k);
        return inDoubt <= m_scan.k + double(m_columns.groups()) / 8;
    }

    Result<Done> runBlock(Eigen::Index first, Eigen::Index count, const ScanKernel& kernel, const Task& task)
    {
        const auto ends = multiply(first, count, kernel, !m_ofColumns.empty(), task);
        if (!ends)
            return ends.error();
        const auto done = m_byRow.rank({first, count, ends->largest.data(), 1, kernel},
                                       {m_scan.k, m_out.ids, m_out.values}, task);
        if (!done || m_scan.ends == ScanEnds::Largest)
            return done;
        return m_byRow.rank({first, count, ends->smallest.data(), -1, kernel},
                            {m_scan.k, m_out.lowestIds, m_out.lowestValues}, task);
    }

    /// Multiplies tiles of rows with all columns. \param keep whether to keep the largest of the columns too
    Result<RowTileEnds> multiply(Eigen::Index first, Eigen::Index count, const ScanKernel& kernel, bool keep,
                                 const Task& task)
    {
        const RoundedLines& rows = m_rows.rounded(kernel.isOfBytes);
        const RoundedLines& columns = m_columns.rounded(kernel.isOfBytes);
        const Eigen::Index stride = m_columns.stride();
        const auto size = static_cast<std::size_t>(count * tileLines * stride);
        RowTileEnds ends{std::vector<float>(size), std::vector<float>(size)};
        std::array<float, tileLines> ofColumns{};
        for (Eigen::Index column = 0; column < m_columns.groups(); ++column) { // a tile each
            if (task.cancelled())
                return stopped();
            for (Eigen::Index row = 0; row < count; ++row) {
                const Eigen::Index at = row * tileLines * stride + column;
                kernel.ends(rows.tile(first + row), columns.tile(column), rows.steps(),
                            rows.starts(first + row),
                            {ends.largest.data() + at, ends.smallest.data() + at, stride, ofColumns.data()});
                if (!keep)
                    continue;
                float* kept = endsOfColumns(column) + m_rows.groupOf(first + row);
                for (const float largest : ofColumns) {
                    *kept = std::max(*kept, largest);
                    kept += m_rows.stride();
                }
            }
        }
        return ends;
    }

    /// The ends of the columns of a tile.
    float* endsOfColumns(Eigen::Index tile)
    {
        return m_ofColumns.data() + tile * tileLines * m_rows.stride();
    }

    const RowScan& m_scan;
    ScanLines m_rows, m_columns;
    RowEnds& m_out;
    Ranking m_byRow, m_byColumn;
    std::vector<float> m_ofColumns; // of column after column; empty if not asked for
};

/// Returns how many tiles of rows share a scale and one end of each column.
Eigen::Index tilesOfRowGroup(const RowScan& scan)
{
    const double bytes =
        double(scan.rowFactors.cols()) * double(scan.colFactors.cols()) / double(tileLines) * sizeof(float);
    Eigen::Index tiles = 1;
    while (scan.ends == ScanEnds::BothAndColumns && tiles < tilesOfBlock
           && bytes > scan.columnBytes * double(tiles))
        tiles *= 2;
    return tiles;
}

} // namespace

std::vector<bool> marks(const std::vector<bool>& unused, Eigen::Index count)
{
    std::vector<bool> sized = unused;
    if (!sized.empty())
        sized.resize(static_cast<std::size_t>(count), true);
    return sized;
}

Result<RowEnds> scanRows(const RowScan& scan, const Task& task)
{
    const ScanKernel& wanted = scan.kernel ? *scan.kernel : scanKernels().front();
    const bool isTooLong = scan.rowFactors.rows() > RoundedLines::longestOfBytes;
    const ScanKernel& kernel = wanted.isOfBytes && isTooLong ? kernelOfPairs() : wanted;
    auto columns = ScanLines::create({scan.colFactors, scan.unusedCols, 1, true, kernel.isOfBytes}, task);
    if (!columns)
        return columns.error();
    auto rows = ScanLines::create(
        {scan.rowFactors, scan.unusedRows, tilesOfRowGroup(scan), false, kernel.isOfBytes}, task);
    if (!rows)
        return rows.error();
    RowEnds out;
    out.k = scan.k;
    const auto prepare = [&](Eigen::Index lines, std::vector<int>& ids, std::vector<double>& values) {
        const std::size_t answers = static_cast<std::size_t>(lines) * static_cast<std::size_t>(scan.k);
        ids.assign(answers, -1);
        values.assign(answers, notComputed);
    };
    prepare(scan.rowFactors.cols(), out.ids, out.values);
    if (scan.ends != ScanEnds::Largest)
        prepare(scan.rowFactors.cols(), out.lowestIds, out.lowestValues);
    if (scan.ends == ScanEnds::BothAndColumns)
        prepare(scan.colFactors.cols(), out.columnIds, out.columnValues);
    if (rows->count() == 0 || columns->count() == 0)
        return out;
    Scan all(scan, std::move(rows).value(), std::move(columns).value(), out);
    if (const auto done = all.run(kernel, task); !done)
        return done.error();
    return out;
}

} // namespace headwise
