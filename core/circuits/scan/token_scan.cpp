#include "core/circuits/scan/token_scan.h"

#include "core/base/matrix.h"
#include "core/base/parallel.h"
#include "core/circuits/scan/scan_ranking.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
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
        const Eigen::Index blocks =
            (m_rows.tiles() / tilesOfBlock + 4) / 4 * 4; // so that few cores share them evenly
        const Eigen::Index perBlock = (m_rows.groups() + blocks - 1) / blocks; // groups
        const auto runBlocks = [&](Eigen::Index from, Eigen::Index to, const Task& shown) {
            return parallelFor(
                static_cast<int>(to - from), shown, "blocks of tokens", [&](int i) -> Result<Done> {
                    const Eigen::Index first = m_rows.firstTile((from + i) * perBlock);
                    return runBlock(first, m_rows.firstTile((from + i + 1) * perBlock) - first, kernel, task);
                });
        };
        if (m_ofColumns.empty())
            return runBlocks(0, blocks, task);
        Eigen::Index begun = 0; // blocks
        if (m_leavesOut) {
            begun = std::min(blocks, (firstCheck(m_rows.groups()) + perBlock - 1) / perBlock);
            if (const auto done = runBlocks(0, begun, Task{task.stop, {}, task.threads}); !done)
                return done;
            if (const auto done = boundColumns(std::min(begun * perBlock, m_rows.groups()), kernel, task);
                !done)
                return done;
        }
        if (const auto done = runBlocks(begun, blocks, task); !done)
            return done;
        return forColumnBlocks(task, "lists of columns", [&](Eigen::Index first, Eigen::Index count) {
            return m_byColumn.rank({first, count, endsOfColumns(first), 1, kernel, m_rows.groups()},
                                   {m_scan.k, m_out.columnIds, m_out.columnValues}, task);
        });
    }

    /// Share of the tiles that were not multiplied.
    double leftOut() const
    {
        return double(m_leftOut) / (double(m_rows.tiles()) * double(m_columns.groups()));
    }

private:
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
        const auto ends = multiply(middle, 1, kernel, false, task);
        if (!ends)
            return ends.error();
        const double groups = double(m_columns.groups());
        const double inDoubt =
            m_byRow.groupsInDoubt({middle, 1, ends->largest.data(), 1, kernel, ends->groups}, m_scan.k);
        const double needed = double(groupsNeeded(*ends, 0, ends->groups, kernel));
        return Sample{inDoubt <= m_scan.k + groups / 8, needed < 0.8 * groups};
    }

    /// How many groups show whether the rest can be left out.
    Eigen::Index firstCheck(Eigen::Index groups) const
    {
        return std::max<Eigen::Index>(2 * Eigen::Index(m_scan.k), groups / 16);
    }

    template <typename Body>
    Result<Done> forColumnBlocks(const Task& task, std::string_view step, const Body& body)
    {
        const Eigen::Index blocks = (m_columns.tiles() + tilesOfBlock - 1) / tilesOfBlock;
        return parallelFor(static_cast<int>(blocks), task, step, [&](int block) -> Result<Done> {
            const Eigen::Index first = block * tilesOfBlock;
            return body(first, std::min(tilesOfBlock, m_columns.tiles() - first));
        });
    }

    /// Finds how many groups of rows each tile of columns needs. \param begun groups that have been multiplied with all columns
    Result<Done> boundColumns(Eigen::Index begun, const ScanKernel& kernel, const Task& task)
    {
        return forColumnBlocks(Task{task.stop, {}, task.threads}, {},
                               [&](Eigen::Index first, Eigen::Index count) -> Result<Done> {
                                   for (Eigen::Index tile = first; tile < first + count; ++tile)
                                       m_ofColumnTiles[static_cast<std::size_t>(tile)] =
                                           m_byColumn.groupsNeeded(
                                               {tile, 1, endsOfColumns(tile), 1, kernel, begun}, m_scan.k);
                                   return Done{};
                               });
    }

    Result<Done> runBlock(Eigen::Index first, Eigen::Index count, const ScanKernel& kernel, const Task& task)
    {
        const auto ends = multiply(first, count, kernel, !m_ofColumns.empty(), task);
        if (!ends)
            return ends.error();
        const auto done = m_byRow.rank({first, count, ends->largest.data(), 1, kernel, ends->groups},
                                       {m_scan.k, m_out.ids, m_out.values}, task);
        if (!done || m_scan.ends == ScanEnds::Largest)
            return done;
        return m_byRow.rank({first, count, ends->smallest.data(), -1, kernel, ends->groups},
                            {m_scan.k, m_out.lowestIds, m_out.lowestValues}, task);
    }

    /// Returns how many groups of columns a tile of rows needs for its ends. \param known of the groups have ends
    Eigen::Index groupsNeeded(const RowTileEnds& ends, Eigen::Index row, Eigen::Index known,
                              const ScanKernel& kernel) const
    {
        const auto needed = [&](const std::vector<float>& side, int sign) {
            const float* own = side.data() + row * tileLines * m_columns.stride();
            return m_byRow.groupsNeeded({ends.firstTile + row, 1, own, sign, kernel, known}, m_scan.k);
        };
        const Eigen::Index forLargest = needed(ends.largest, 1);
        return m_scan.ends == ScanEnds::Largest ? forLargest
                                                : std::max(forLargest, needed(ends.smallest, -1));
    }

    /// Multiplies tiles of rows with all columns that they need. \param keep whether to keep the largest of the columns too
    Result<RowTileEnds> multiply(Eigen::Index first, Eigen::Index count, const ScanKernel& kernel, bool keep,
                                 const Task& task)
    {
        constexpr float infinity = std::numeric_limits<float>::infinity();
        const RoundedLines& rows = m_rows.rounded(kernel.isOfBytes);
        const RoundedLines& columns = m_columns.rounded(kernel.isOfBytes);
        const Eigen::Index stride = m_columns.stride(), groups = m_columns.groups();
        const auto size = static_cast<std::size_t>(count * tileLines * stride);
        RowTileEnds ends{first, std::vector<float>(size, -infinity), std::vector<float>(size, infinity),
                         groups};
        std::array<float, tileLines> ofColumns{};
        std::vector<Eigen::Index> needed(static_cast<std::size_t>(count), groups); // by each tile of rows
        Eigen::Index check = m_leavesOut ? firstCheck(groups) : groups, leftOut = 0;
        for (Eigen::Index column = 0; column < groups; ++column) { // a tile each
            if (task.cancelled())
                return stopped();
            if (column == check) {
                ends.groups = column;
                for (Eigen::Index row = 0; row < count; ++row) {
                    const Eigen::Index ofRow = groupsNeeded(ends, row, column, kernel);
                    needed[static_cast<std::size_t>(row)] = ofRow;
                    ends.groups = std::max(ends.groups, ofRow);
                }
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
