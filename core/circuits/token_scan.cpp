#include "core/circuits/token_scan.h"

#include "core/base/matrix.h"
#include "core/base/parallel.h"
#include "core/circuits/scan_kernel.h"

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
constexpr double keyRounding = 512;      // of sums below 2^30 in float32
constexpr double longestLine = 32440; // the norm of a rounded line: below 2^15, so that sums stay below 2^30
constexpr double shortestLine = 0x1p-60; // of the longest; what is shorter is rounded as if it were as long

/// Lines of one side, of which the products with the other side are taken: rounded to whole numbers of 16 bits, in tiles of the kernel.
///
/// Lines are in the order of their norms, so that those of a tile are about as long. One or more tiles are a group, which has one scale.
class Lines {
public:
    static Result<Lines> create(const Matrix<float>& factors, const std::vector<bool>& unused,
                                Eigen::Index tilesOfGroup, const Task& task)
    {
        Lines lines;
        const Eigen::VectorXd squares = factors.cast<double>().colwise().squaredNorm();
        if (!factors.allFinite())
            return Error{
                ErrorCode::Corrupt,
                "A factor of this circuit holds NaN or infinity, so its entries have no order; check the checkpoint for NaN, infinite or very large numbers."};
        for (int id = 0; id < factors.cols(); ++id) {
            if (unused.empty() || !unused[static_cast<std::size_t>(id)])
                lines.m_ids.push_back(id);
        }
        std::ranges::stable_sort(lines.m_ids, std::greater<>(), [&](int id) { return squares(id); });
        lines.m_tilesOfGroup = tilesOfGroup;
        lines.m_pairs = (factors.rows() + 1) / 2;
        lines.m_storage.resize(lines.offset(lines.tiles()));
        lines.m_units.resize(lines.groups());
        const double longest =
            lines.count() == 0 ? 0 : factors.col(lines.m_ids.front()).cast<double>().norm();
        const auto done = parallelFor(static_cast<int>(lines.groups()), task, "tokens", [&](int group) {
            lines.round(factors, group, longest);
            return Result<Done>(Done{});
        });
        if (!done)
            return done.error();
        return lines;
    }

    Eigen::Index count() const { return static_cast<Eigen::Index>(m_ids.size()); }
    Eigen::Index tiles() const { return (count() + tileLines - 1) / tileLines; }
    Eigen::Index groups() const { return (tiles() + m_tilesOfGroup - 1) / m_tilesOfGroup; }
    /// Numbers from a line's ends in these groups to the next line's: an odd count of cache lines, so that those of 64 lines have
    /// different places in the cache.
    Eigen::Index stride() const { return ((groups() + 15) / 16 | 1) * 16; }
    Eigen::Index groupOf(Eigen::Index tile) const { return tile / m_tilesOfGroup; }
    /// The first tile of a group; of the last group plus one: the number of tiles.
    Eigen::Index firstTile(Eigen::Index group) const { return std::min(group * m_tilesOfGroup, tiles()); }
    Eigen::Index pairs() const { return m_pairs; }
    /// Bounds the error of a product of two rounded lines that is kept as float32, in units of both.
    double error() const
    {
        const double r = 2 * static_cast<double>(m_pairs);
        const double rounding =
            std::numeric_limits<float>::epsilon() * (r + 4) * longestLine * longestLine; // of the factors
        return 1.02 * std::sqrt(r) * longestLine + 0.26 * r + rounding + keyRounding;
    }
    /// Factors from the rounded lines of each group to the lines, over the largest of them; falling.
    const Eigen::VectorXf& units() const { return m_units; }

    /// The lines of a tile; the last tile may have fewer than 64.
    std::span<const int> idsOf(Eigen::Index tile) const
    {
        const Eigen::Index first = tile * tileLines;
        return std::span(m_ids).subspan(static_cast<std::size_t>(first),
                                        static_cast<std::size_t>(std::min(tileLines, count() - first)));
    }
    const short* tile(Eigen::Index index) const { return m_storage[offset(index)].numbers.data(); }
    /// Writes a line of a tile as the kernel takes one, [pairs, 2].
    void copyLine(Eigen::Index index, Eigen::Index line, std::vector<short>& out) const
    {
        out.resize(static_cast<std::size_t>(2 * m_pairs));
        const short* from = tile(index) + 2 * line;
        for (std::size_t k = 0; k < out.size(); k += 2, from += 2 * tileLines)
            std::copy_n(from, 2, out.data() + k);
    }

private:
    struct alignas(64) Packed { // a line of the cache
        static constexpr Eigen::Index size = 32;
        std::array<short, size> numbers;
    };

    std::size_t offset(Eigen::Index tile) const
    {
        return static_cast<std::size_t>(tile * m_pairs * 2 * tileLines / Packed::size);
    }

    /// \param longest the norm of all lines at the most
    void round(const Matrix<float>& factors, Eigen::Index group, double longest)
    {
        double norm = shortestLine * longest;
        const Eigen::Index first = firstTile(group), end = firstTile(group + 1);
        for (Eigen::Index tile = first; tile < end; ++tile) {
            for (const int id : idsOf(tile))
                norm = std::max(norm, factors.col(id).cast<double>().norm());
        }
        m_units(group) = longest > 0 ? static_cast<float>(norm / longest) : 1;
        const double scale = longest > 0 ? longestLine / (double(m_units(group)) * longest) : 0;
        for (Eigen::Index tile = first; tile < end; ++tile) {
            const std::span<const int> ids = idsOf(tile);
            short* out = m_storage[offset(tile)].numbers.data();
            for (Eigen::Index line = 0; line < tileLines; ++line) {
                const int id = ids[std::min(static_cast<std::size_t>(line),
                                            ids.size() - 1)]; // the last one again is no new end
                for (Eigen::Index k = 0; k < factors.rows(); ++k)
                    out[(k / 2 * tileLines + line) * 2 + k % 2] =
                        static_cast<short>(std::lrint(double(factors(k, id)) * scale));
            }
        }
    }

    std::vector<int> m_ids;
    std::vector<Packed> m_storage; // zeros where the inner side is odd
    Eigen::VectorXf m_units;
    Eigen::Index m_pairs = 0, m_tilesOfGroup = 1;
};

/// Lower bounds of the ends of one line with the largest of every few, so that most are passed over.
class LineKeys {
public:
    /// \param lower no end is further above its bound than its `spread`, which falls
    LineKeys(const Eigen::VectorXf& lower, const Eigen::VectorXf& spread)
        : m_lower(lower)
        , m_spread(spread)
        , m_largest((lower.size() + few - 1) / few)
    {
        for (Eigen::Index i = 0; i < m_largest.size(); ++i)
            m_largest(i) = (i + 1) * few <= lower.size() ? lower.segment<few>(i * few).maxCoeff()
                                                         : lower.tail(lower.size() - i * few).maxCoeff();
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
        for (Eigen::Index i = 0; i < m_largest.size(); ++i) {
            if (m_largest(i) < common)
                continue;
            for (Eigen::Index group = i * few; group < endOf(i); ++group) {
                if (m_lower(group) >= common)
                    reaching.push_back(m_lower(group));
            }
        }
        return select(std::move(reaching), k);
    }

    /// Calls `visit` with each group whose end may reach `key`.
    template <typename Visit>
    void forEachThatMayReach(float key, Visit visit) const
    {
        for (Eigen::Index i = 0; i < m_largest.size(); ++i) {
            if (m_largest(i) + m_spread(i * few) < key)
                continue;
            for (Eigen::Index group = i * few; group < endOf(i); ++group) {
                if (m_lower(group) + m_spread(group) >= key)
                    visit(group);
            }
        }
    }

private:
    static constexpr Eigen::Index few = 8;

    Eigen::Index endOf(Eigen::Index i) const { return std::min((i + 1) * few, m_lower.size()); }

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
    const float* ends; // of line after line, `stride` apart
    int sign;          // 1: the largest, −1: the smallest
};

/// Ranks the entries of lines by the ends of each line in the groups of the other side.
///
/// Rounding moves an entry by no more than a known error. The k-th largest of the ends less their errors is therefore reached by k entries, and
/// only groups whose ends with their errors reach it can hold one of the first k. Their entries are computed again, those that can be
/// among the first k exactly.
class Ranking {
public:
    /// \param exact of a line and one of the other side, by their ids
    Ranking(const Lines& own, const Lines& other, std::function<double(int, int)> exact)
        : m_own(own)
        , m_other(other)
        , m_exact(std::move(exact))
        , m_kernel(scanKernels().front())
        , m_error(static_cast<float>(own.error()))
        , m_spread(2 * m_error * other.units())
    {
    }

    Result<Done> rank(const LineEnds& own, const Lists& lists, const Task& task) const
    {
        std::vector<Open> open(static_cast<std::size_t>(own.tiles * tileLines));
        std::vector<std::vector<int>> linesOf(static_cast<std::size_t>(m_other.groups()));
        Eigen::VectorXf lower;
        for (Eigen::Index i = 0; i < own.tiles; ++i) {
            const auto count = static_cast<Eigen::Index>(m_own.idsOf(own.firstTile + i).size());
            for (Eigen::Index line = i * tileLines; line < i * tileLines + count; ++line) {
                const Eigen::Map<const Eigen::ArrayXf> ends(own.ends + line * m_other.stride(),
                                                            m_other.groups());
                lower = (static_cast<float>(own.sign) * ends - m_error) * m_other.units().array();
                choose(lower, lists.k, static_cast<int>(line), open, linesOf);
            }
        }
        for (std::size_t group = 0; group < linesOf.size(); ++group) {
            if (task.cancelled())
                return stopped();
            collect(static_cast<Eigen::Index>(group), linesOf[group], own, open);
        }
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

private:
    struct Candidate {
        float lower, upper; // the entry is between them
        int id;
    };
    /// State of one line before it is ranked.
    struct Open {
        float reached = 0; // by k entries or more
        std::vector<Candidate> candidates;
    };
    struct Exact {
        double key;
        int id;
        bool operator<(const Exact& other) const
        {
            return key > other.key || (key == other.key && id < other.id);
        }
    };

    /// Records the groups that can hold the first entries of a line.
    void choose(const Eigen::VectorXf& lower, int k, int line, std::vector<Open>& open,
                std::vector<std::vector<int>>& linesOf) const
    {
        const LineKeys keys(lower, m_spread);
        const float reached = keys.reachedBy(static_cast<std::size_t>(k));
        keys.forEachThatMayReach(
            reached, [&](Eigen::Index group) { linesOf[static_cast<std::size_t>(group)].push_back(line); });
        open[static_cast<std::size_t>(line)].reached = reached;
    }

    /// Multiplies a group again with the lines that need it.
    void collect(Eigen::Index group, const std::vector<int>& lines, const LineEnds& own,
                 std::vector<Open>& open) const
    {
        const float unit = m_other.units()(group);
        std::vector<short> factors;
        alignas(64) std::array<int, tileLines> entries{};
        for (const int index : lines) {
            m_own.copyLine(own.firstTile + index / tileLines, index % tileLines, factors);
            Open& line = open[static_cast<std::size_t>(index)];
            const float least = line.reached / unit - m_error;
            for (Eigen::Index tile = m_other.firstTile(group); tile < m_other.firstTile(group + 1); ++tile) {
                m_kernel.entries(m_other.tile(tile), factors.data(), m_other.pairs(), entries.data());
                const std::span<const int> ids = m_other.idsOf(tile);
                for (std::size_t i = 0; i < ids.size(); ++i) {
                    if (const auto entry = static_cast<float>(own.sign * entries[i]); entry >= least)
                        line.candidates.push_back(
                            {(entry - m_error) * unit, (entry + m_error) * unit, ids[i]});
                }
            }
        }
    }

    void put(int own, std::vector<Candidate> candidates, int sign, const Lists& lists) const
    {
        const auto k = static_cast<std::size_t>(lists.k);
        if (candidates.size() > k) {
            const auto last = candidates.begin() + lists.k - 1;
            std::ranges::nth_element(candidates, last, std::greater<>(), &Candidate::lower);
            std::erase_if(candidates, [reached = last->lower](const Candidate& candidate) {
                return candidate.upper < reached;
            });
        }
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

    const Lines& m_own;
    const Lines& m_other;
    std::function<double(int, int)> m_exact;
    const ScanKernel& m_kernel;
    float m_error;
    Eigen::VectorXf m_spread; // of what is known of an end of each group, in units
};

/// Multiplies all rows with all columns and ranks the ends.
class Scan {
public:
    Scan(const RowScan& scan, Lines rows, Lines columns, RowEnds& out)
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

    Result<Done> run(const Task& task)
    {
        const Eigen::Index blocks =
            (m_rows.tiles() / tilesOfBlock + 4) / 4 * 4; // so that few cores share them evenly
        const Eigen::Index perBlock = (m_rows.groups() + blocks - 1) / blocks; // groups
        const auto done =
            parallelFor(static_cast<int>(blocks), task, "blocks of tokens", [&](int block) -> Result<Done> {
                const Eigen::Index first = m_rows.firstTile(block * perBlock);
                return runBlock(first, m_rows.firstTile((block + 1) * perBlock) - first, task);
            });
        if (!done || m_ofColumns.empty())
            return done;
        const Eigen::Index columnBlocks = (m_columns.tiles() + tilesOfBlock - 1) / tilesOfBlock;
        return parallelFor(
            static_cast<int>(columnBlocks), task, "lists of columns", [&](int block) -> Result<Done> {
                const Eigen::Index first = block * tilesOfBlock;
                return m_byColumn.rank(
                    {first, std::min(tilesOfBlock, m_columns.tiles() - first), endsOfColumns(first), 1},
                    {m_scan.k, m_out.columnIds, m_out.columnValues}, task);
            });
    }

private:
    Result<Done> runBlock(Eigen::Index first, Eigen::Index count, const Task& task)
    {
        const ScanKernel& kernel = scanKernels().front();
        const Eigen::Index groups = m_columns.groups(); // a tile each
        const Eigen::Index stride = m_columns.stride();
        const auto size = static_cast<std::size_t>(count * tileLines * stride);
        std::vector<float> largest(size);
        std::vector<float> smallest(size);
        std::array<float, tileLines> ofColumns{};
        for (Eigen::Index column = 0; column < groups; ++column) {
            if (task.cancelled())
                return stopped();
            for (Eigen::Index row = 0; row < count; ++row) {
                const Eigen::Index at = row * tileLines * stride + column;
                kernel.ends(m_rows.tile(first + row), m_columns.tile(column), m_rows.pairs(),
                            {largest.data() + at, smallest.data() + at, stride, ofColumns.data()});
                if (m_ofColumns.empty())
                    continue;
                float* kept = endsOfColumns(column) + m_rows.groupOf(first + row);
                for (const float largestOfColumn : ofColumns) {
                    *kept = std::max(*kept, largestOfColumn);
                    kept += m_rows.stride();
                }
            }
        }
        const auto done =
            m_byRow.rank({first, count, largest.data(), 1}, {m_scan.k, m_out.ids, m_out.values}, task);
        if (!done || m_scan.ends == ScanEnds::Largest)
            return done;
        return m_byRow.rank({first, count, smallest.data(), -1},
                            {m_scan.k, m_out.lowestIds, m_out.lowestValues}, task);
    }

    /// The ends of the columns of a tile.
    float* endsOfColumns(Eigen::Index tile)
    {
        return m_ofColumns.data() + tile * tileLines * m_rows.stride();
    }

    const RowScan& m_scan;
    Lines m_rows, m_columns;
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
    auto columns = Lines::create(scan.colFactors, scan.unusedCols, 1, task);
    if (!columns)
        return columns.error();
    auto rows = Lines::create(scan.rowFactors, scan.unusedRows, tilesOfRowGroup(scan), task);
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
    if (const auto done = Scan(scan, std::move(rows).value(), std::move(columns).value(), out).run(task);
        !done)
        return done.error();
    return out;
}

} // namespace headwise
