#include "core/circuits/scan/token_scan.h"

#include "core/base/matrix.h"
#include "core/base/parallel.h"
#include "core/circuits/scan/scan_ranking.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <span>
#include <string_view>
#include <utility>

namespace headwise {

namespace {

constexpr Eigen::Index tilesOfBlock = 8; // of rows at once: they stay in the second-level cache

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
        if (scan.ends != ScanEnds::BothAndColumns)
            return;
        m_ofColumns.assign(static_cast<std::size_t>(m_columns.tiles() * tileLines * m_rows.stride()),
                           -std::numeric_limits<float>::infinity());
        m_ofColumnTiles.assign(static_cast<std::size_t>(m_columns.tiles()), m_rows.groups());
    }

    /// \param fastest of the kernels for which there are numbers
    Result<Done> run(const ScanKernel& fastest, const Task& task)
    {
        const auto sample = sampled(fastest, task);
        if (!sample)
            return sample.error();
        const ScanKernel& kernel = sample->bytesSuffice || !fastest.isOfBytes ? fastest : kernelOfPairs();
        m_leavesOut = sample->leavesOut;
        if (m_leavesOut && m_ofColumns.empty())
            if (const auto done = sortRows(kernel, task); !done)
                return done;
        const Eigen::Index blocks =
            (m_rows.tiles() / tilesOfBlock + 4) / 4 * 4; // so that few cores share them evenly
        const Eigen::Index perBlock = (m_rows.groups() + blocks - 1) / blocks; // groups
        const auto runBlocks = [&](Eigen::Index from, Eigen::Index to, const Task& shown) {
            return parallelFor(
                static_cast<int>(to - from), shown, "blocks of tokens", [&](int i) -> Result<Done> {
                    const Eigen::Index first = m_rows.firstTile((from + i) * perBlock);
                    return runBlock({first, m_rows.firstTile((from + i + 1) * perBlock) - first}, kernel,
                                    task);
                });
        };
        if (m_ofColumns.empty())
            return runBlocks(0, blocks, task);
        Eigen::Index begun = 0; // blocks
        if (m_leavesOut) {
            begun = (firstCheck(m_rows.groups()) + perBlock - 1) / perBlock;
            if (const auto done = runBlocks(0, begun, Task{task.stop, {}, task.threads}); !done)
                return done;
            if (const auto done = boundColumns(std::min(begun * perBlock, m_rows.groups()), kernel, task);
                !done)
                return done;
        }
        if (const auto done = runBlocks(begun, blocks, task); !done)
            return done;
        return forBlocks(m_columns, task, "lists of columns", [&](Tiles tiles) {
            return m_byColumn.rank(
                {tiles.first, tiles.count, endsOfColumns(tiles.first), 1, kernel, m_rows.groups()},
                {m_scan.k, m_out.columnIds, m_out.columnValues}, task);
        });
    }

    /// Share of the tiles that were not multiplied.
    double leftOut() const
    {
        return double(m_leftOut) / (double(m_rows.tiles()) * double(m_columns.groups()));
    }

private:
    struct Tiles {
        Eigen::Index first, count;
    };

    /// The ends of the rows of some tiles in each tile of columns.
    struct RowTileEnds {
        Eigen::Index firstTile;
        std::vector<float> largest, smallest;
        Eigen::Index groups; // of columns that have ends
    };

    struct Sample {
        bool bytesSuffice; // rounding to bytes leaves little to multiply again
        bool leavesOut;    // many tiles are too short
    };

    /// Learns from a tile of rows.
    Result<Sample> sampled(const ScanKernel& kernel, const Task& task)
    {
        const Eigen::Index middle = m_rows.tiles() / 2;
        const auto ends = multiply({middle, 1}, m_columns.groups(), kernel, false, task);
        if (!ends)
            return ends.error();
        const double groups = double(m_columns.groups());
        const double inDoubt =
            m_byRow.groupsInDoubt({middle, 1, ends->largest.data(), 1, kernel, ends->groups}, m_scan.k);
        std::vector<float> least = reached(*ends, 0, kernel);
        if (!m_ofColumns.empty()) // rows stay where they are, and the last of a tile decides
            least = {std::ranges::min(least)};
        double needed = 0;
        for (const float one : least)
            needed += double(m_byRow.groupsReaching(endsOf(*ends, 0, 1, kernel), one));
        return Sample{inDoubt <= m_scan.k + groups / 8, needed < 0.8 * groups * double(least.size())};
    }

    /// Brings rows into the order of what their ends reach for their lengths, so that those of a tile need about as many columns.
    Result<Done> sortRows(const ScanKernel& kernel, const Task& task)
    {
        const Task quiet{task.stop, {}, task.threads};
        std::vector<float> keys(static_cast<std::size_t>(m_scan.rowFactors.cols()));
        const auto done = forBlocks(m_rows, quiet, {}, [&](Tiles tiles) -> Result<Done> {
            const auto ends = multiply(tiles, firstCheck(m_columns.groups()), kernel, false, task);
            if (!ends)
                return ends.error();
            for (Eigen::Index row = 0; row < tiles.count; ++row) {
                const std::vector<float> least = reached(*ends, row, kernel);
                const std::span<const int> ids = m_rows.idsOf(tiles.first + row);
                const Eigen::Index group = m_rows.groupOf(tiles.first + row);
                const float norm = m_rows.rounded(kernel.isOfBytes).scale(group).norm;
                for (std::size_t i = 0; i < ids.size(); ++i)
                    keys[static_cast<std::size_t>(ids[i])] = norm > 0 ? least[i] / norm : 0; // 0: no length
            }
            return Done{};
        });
        if (!done)
            return done;
        auto sorted = ScanLines::create(
            {m_scan.rowFactors, m_scan.unusedRows, 1, false, kernel.isOfBytes, std::move(keys)}, quiet);
        if (!sorted)
            return sorted.error();
        m_rows = std::move(sorted).value();
        return Done{};
    }

    /// How many groups show whether the rest can be left out.
    Eigen::Index firstCheck(Eigen::Index groups) const
    {
        return std::min(groups, std::max<Eigen::Index>(2 * Eigen::Index(m_scan.k), groups / 16));
    }

    template <typename Body>
    static Result<Done> forBlocks(const ScanLines& lines, const Task& task, std::string_view step,
                                  const Body& body)
    {
        const Eigen::Index blocks = (lines.tiles() + tilesOfBlock - 1) / tilesOfBlock;
        return parallelFor(static_cast<int>(blocks), task, step, [&](int block) -> Result<Done> {
            const Eigen::Index first = block * tilesOfBlock;
            return body(Tiles{first, std::min(tilesOfBlock, lines.tiles() - first)});
        });
    }

    /// Finds how many groups of rows each tile of columns needs. \param begun groups that have been multiplied with all columns
    Result<Done> boundColumns(Eigen::Index begun, const ScanKernel& kernel, const Task& task)
    {
        return forBlocks(m_columns, Task{task.stop, {}, task.threads}, {}, [&](Tiles tiles) -> Result<Done> {
            for (Eigen::Index tile = tiles.first; tile < tiles.first + tiles.count; ++tile) {
                const LineEnds ends{tile, 1, endsOfColumns(tile), 1, kernel, begun};
                m_ofColumnTiles[static_cast<std::size_t>(tile)] =
                    m_byColumn.groupsReaching(ends, std::ranges::min(m_byColumn.reached(ends, m_scan.k)));
            }
            return Done{};
        });
    }

    Result<Done> runBlock(Tiles tiles, const ScanKernel& kernel, const Task& task)
    {
        const auto ends = multiply(tiles, m_columns.groups(), kernel, !m_ofColumns.empty(), task);
        if (!ends)
            return ends.error();
        const auto done =
            m_byRow.rank({tiles.first, tiles.count, ends->largest.data(), 1, kernel, ends->groups},
                         {m_scan.k, m_out.ids, m_out.values}, task);
        if (!done || m_scan.ends == ScanEnds::Largest)
            return done;
        return m_byRow.rank({tiles.first, tiles.count, ends->smallest.data(), -1, kernel, ends->groups},
                            {m_scan.k, m_out.lowestIds, m_out.lowestValues}, task);
    }

    /// The largest or the smallest ends of a tile of rows, which is one of those that have ends.
    LineEnds endsOf(const RowTileEnds& ends, Eigen::Index row, int sign, const ScanKernel& kernel) const
    {
        const std::vector<float>& side = sign > 0 ? ends.largest : ends.smallest;
        return {ends.firstTile + row, 1, side.data() + row * tileLines * m_columns.stride(), sign, kernel,
                ends.groups};
    }

    /// Returns what all ends that each row of a tile lists reach, in units of the tile.
    std::vector<float> reached(const RowTileEnds& ends, Eigen::Index row, const ScanKernel& kernel) const
    {
        std::vector<float> least = m_byRow.reached(endsOf(ends, row, 1, kernel), m_scan.k);
        if (m_scan.ends == ScanEnds::Largest)
            return least;
        const std::vector<float> smallest = m_byRow.reached(endsOf(ends, row, -1, kernel), m_scan.k);
        std::ranges::transform(least, smallest, least.begin(),
                               [](float one, float other) { return std::min(one, other); });
        return least;
    }

    /// Multiplies tiles of rows with the columns of the first groups that they need. \param keep whether to keep the largest of the columns too
    Result<RowTileEnds> multiply(Tiles tiles, Eigen::Index groups, const ScanKernel& kernel, bool keep,
                                 const Task& task)
    {
        constexpr float infinity = std::numeric_limits<float>::infinity();
        const auto [first, count] = tiles;
        const RoundedLines& rows = m_rows.rounded(kernel.isOfBytes);
        const RoundedLines& columns = m_columns.rounded(kernel.isOfBytes);
        const Eigen::Index stride = m_columns.stride();
        const auto size = static_cast<std::size_t>(count * tileLines * stride);
        RowTileEnds ends{first, std::vector<float>(size, -infinity), std::vector<float>(size, infinity),
                         groups};
        std::array<float, tileLines> ofColumns{};
        std::vector<Eigen::Index> needed(static_cast<std::size_t>(count), groups); // by each tile of rows
        Eigen::Index check = m_leavesOut ? firstCheck(m_columns.groups()) : groups, leftOut = 0;
        for (Eigen::Index column = 0; column < groups; ++column) { // a tile each
            if (task.cancelled())
                return stopped();
            if (column == check) {
                ends.groups = column;
                for (Eigen::Index row = 0; row < count; ++row)
                    needed[static_cast<std::size_t>(row)] = m_byRow.groupsReaching(
                        endsOf(ends, row, 1, kernel), std::ranges::min(reached(ends, row, kernel)));
                for (const Eigen::Index ofRow : needed) // of none in an empty block
                    ends.groups = std::max(ends.groups, ofRow);
                check *= 4;
            }
            for (Eigen::Index row = 0; row < count; ++row) {
                if (column >= needed[static_cast<std::size_t>(row)]
                    && (!keep
                        || m_rows.groupOf(first + row)
                            >= m_ofColumnTiles[static_cast<std::size_t>(column)])) {
                    ++leftOut;
                    continue;
                }
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
        m_leftOut += leftOut;
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
    LineRanking m_byRow, m_byColumn;
    std::vector<float> m_ofColumns;            // of column after column; empty if not asked for
    std::vector<Eigen::Index> m_ofColumnTiles; // groups of rows that each needs, as far as is known
    bool m_leavesOut = false;                  // whether tiles may be left out
    std::atomic<Eigen::Index> m_leftOut = 0;   // tiles
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
    out.skipped = all.leftOut();
    return out;
}

} // namespace headwise
