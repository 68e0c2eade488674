#include "core/circuits/scan/token_scan.h"

#include "core/base/matrix.h"
#include "core/base/parallel.h"
#include "core/circuits/scan/scan_ranking.h"

#include <algorithm>
#include <array>
#include <limits>
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
    LineRanking m_byRow, m_byColumn;
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
