#include "core/circuits/scan/token_scan.h"

#include "core/base/matrix.h"
#include "core/base/parallel.h"
#include "core/circuits/scan/scan_ranking.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <memory>
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

/// Returns how many tiles of rows share a scale and one end of each column.
Eigen::Index tilesOfRowGroup(const RowScan& scan)
{
    const double bytes = double(scan.rows.factors.cols()) * double(scan.cols.factors.cols())
        / double(tileLines) * sizeof(float);
    Eigen::Index tiles = 1;
    while (scan.ends == ScanEnds::BothAndColumns && tiles < tilesOfBlock
           && bytes > scan.columnBytes * double(tiles))
        tiles *= 2;
    return tiles;
}

/// Multiplies all rows with all columns and ranks the ends.
class Scan {
public:
    using Lines = std::shared_ptr<const ScanLines>;

    Scan(const RowScan& scan, Lines rows, Lines columns, RowEnds& out)
        : m_scan(scan)
        , m_rows(std::move(rows))
        , m_columns(std::move(columns))
        , m_out(out)
        , m_byRow({m_rows, scan.rows}, {m_columns, scan.cols})
    {
    }

    /// \param fastest of the kernels for which there are numbers
    Result<Done> run(const ScanKernel& fastest, const Task& task)
    {
        const auto sample = sampled(fastest, task);
        if (!sample)
            return sample.error();
        const ScanKernel& kernel = sample->bytesSuffice || !fastest.isOfBytes ? fastest : kernelOfPairs();
        m_leavesOut = sample->leavesOut;
        if (m_leavesOut) {
            if (const auto done = sortRows(kernel, task); !done)
                return done;
        } else if (m_scan.ends == ScanEnds::BothAndColumns) {
            if (const Eigen::Index tiles = tilesOfRowGroup(m_scan); tiles > 1)
                if (const auto done = useRows(tiles, std::nullopt, kernel, task); !done)
                    return done;
            m_ofColumns = std::make_unique_for_overwrite<float[]>(
                static_cast<std::size_t>(m_columns->tiles() * m_rows->groups() * tileLines));
        }
        const Eigen::Index blocks =
            (m_rows->tiles() / tilesOfBlock + 4) / 4 * 4; // so that few cores share them evenly
        const Eigen::Index perBlock = (m_rows->groups() + blocks - 1) / blocks; // groups
        const auto done =
            parallelFor(static_cast<int>(blocks), task, "blocks of tokens", [&](int i) -> Result<Done> {
                const Eigen::Index first = m_rows->firstTile(i * perBlock);
                return runBlock({first, m_rows->firstTile((i + 1) * perBlock) - first}, kernel, task);
            });
        if (!done || !m_ofColumns)
            return done;
        const LineRanking byColumn({m_columns, m_scan.cols}, {m_rows, m_scan.rows});
        return forBlocks(*m_columns, task, "lists of columns", [&](Tiles tiles) {
            return byColumn.rank(
                {tiles.first, tiles.count, endsOfColumns(tiles.first), 1, kernel, m_rows->groups()},
                {m_scan.k, m_out.columnIds, m_out.columnValues}, task);
        });
    }

    /// Whether the lists of columns were made too.
    bool hasColumns() const { return m_ofColumns != nullptr; }

    /// Share of the tiles that were not multiplied.
    double leftOut() const
    {
        return double(m_leftOut) / (double(m_rows->tiles()) * double(m_columns->groups()));
    }

private:
    using Ends = Eigen::Vector<float, tileLines>;

    struct Tiles {
        Eigen::Index first, count;
    };

    /// The ends of the rows of some tiles in each tile of columns.
    struct RowTileEnds {
        Eigen::Index firstTile;
        std::unique_ptr<float[]> largest, smallest; // [tiles, groups of columns, 64]; the second may be null
        Eigen::Index groups; // of columns that have ends; of what was left out −∞ and ∞
    };

    struct Sample {
        bool bytesSuffice; // rounding to bytes leaves little to multiply again
        bool leavesOut;    // many tiles are too short
    };

    /// Learns from a tile of rows.
    Result<Sample> sampled(const ScanKernel& kernel, const Task& task)
    {
        const Eigen::Index middle = m_rows->tiles() / 2;
        const auto ends = multiply({middle, 1}, m_columns->groups(), kernel, false, task);
        if (!ends)
            return ends.error();
        const double groups = double(m_columns->groups());
        const double inDoubt =
            m_byRow.groupsInDoubt({middle, 1, ends->largest.get(), 1, kernel, ends->groups}, m_scan.k);
        const std::vector<float> least = reached(*ends, 0, kernel);
        double needed = 0;
        for (const float one : least)
            needed += double(m_byRow.groupsReaching(endsOf(*ends, 0, 1, kernel), one));
        return Sample{inDoubt <= m_scan.k + groups / 8, needed < 0.8 * groups * double(least.size())};
    }

    /// Brings rows into the order of what their ends reach for their lengths, so that those of a tile need about as many columns.
    Result<Done> sortRows(const ScanKernel& kernel, const Task& task)
    {
        const Task quiet{task.stop, {}, task.threads};
        std::vector<float> keys(static_cast<std::size_t>(m_scan.rows.factors.cols()));
        const auto done = forBlocks(*m_rows, quiet, {}, [&](Tiles tiles) -> Result<Done> {
            const auto ends = multiply(tiles, firstCheck(m_columns->groups()), kernel, false, task);
            if (!ends)
                return ends.error();
            for (Eigen::Index row = 0; row < tiles.count; ++row) {
                const std::vector<float> least = reached(*ends, row, kernel);
                const std::span<const int> ids = m_rows->idsOf(tiles.first + row);
                const Eigen::Index group = m_rows->groupOf(tiles.first + row);
                const float norm = m_rows->rounded(kernel.isOfBytes).scale(group).norm;
                for (std::size_t i = 0; i < ids.size(); ++i)
                    keys[static_cast<std::size_t>(ids[i])] = norm > 0 ? least[i] / norm : 0; // 0: no length
            }
            return Done{};
        });
        if (!done)
            return done;
        return useRows(1, std::move(keys), kernel, quiet);
    }

    /// Takes the rows in other tiles or groups.
    Result<Done> useRows(Eigen::Index tilesOfGroup, std::optional<std::vector<float>> keys,
                         const ScanKernel& kernel, const Task& task)
    {
        auto rows = ScanLines::create(m_scan.rows, {tilesOfGroup, kernel.isOfBytes, std::move(keys)}, task);
        if (!rows)
            return rows.error();
        m_rows = std::make_shared<const ScanLines>(std::move(rows).value());
        m_byRow = LineRanking({m_rows, m_scan.rows}, {m_columns, m_scan.cols});
        return Done{};
    }

    /// How many groups show whether the rest can be left out.
    Eigen::Index firstCheck(Eigen::Index groups) const
    {
        return std::min(groups, std::max<Eigen::Index>(2 * Eigen::Index(m_scan.k), groups / 32));
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

    Result<Done> runBlock(Tiles tiles, const ScanKernel& kernel, const Task& task)
    {
        const auto ends = multiply(tiles, m_columns->groups(), kernel, m_ofColumns != nullptr, task);
        if (!ends)
            return ends.error();
        const auto done =
            m_byRow.rank({tiles.first, tiles.count, ends->largest.get(), 1, kernel, ends->groups},
                         {m_scan.k, m_out.ids, m_out.values}, task);
        if (!done || m_scan.ends == ScanEnds::Largest)
            return done;
        return m_byRow.rank({tiles.first, tiles.count, ends->smallest.get(), -1, kernel, ends->groups},
                            {m_scan.k, m_out.lowestIds, m_out.lowestValues}, task);
    }

    /// The largest or the smallest ends of a tile of rows, which is one of those that have ends.
    LineEnds endsOf(const RowTileEnds& ends, Eigen::Index row, int sign, const ScanKernel& kernel) const
    {
        const float* const side = (sign > 0 ? ends.largest : ends.smallest).get();
        return {ends.firstTile + row, 1, side + row * m_columns->groups() * tileLines, sign, kernel,
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
        const RoundedLines& rows = m_rows->rounded(kernel.isOfBytes);
        const RoundedLines& columns = m_columns->rounded(kernel.isOfBytes);
        const auto size = static_cast<std::size_t>(count * m_columns->groups() * tileLines);
        const bool both = m_scan.ends != ScanEnds::Largest;
        RowTileEnds ends{first, std::make_unique_for_overwrite<float[]>(size),
                         both ? std::make_unique_for_overwrite<float[]>(size) : nullptr, groups};
        const std::vector<RoundedLines::Words> rowTiles = rows.asRows(first, count);
        Ends ofColumns = Ends::Zero();
        std::vector<Eigen::Index> needed(static_cast<std::size_t>(count), groups); // by each tile of rows
        Eigen::Index check = m_leavesOut ? firstCheck(m_columns->groups()) : groups, multiplied = 0;
        for (Eigen::Index column = 0; column < ends.groups; ++column) { // a tile each
            if (task.cancelled())
                return stopped();
            if (column == check) {
                boundRows(ends, column, needed, kernel);
                check *= 4;
            }
            for (Eigen::Index row = 0; row < count; ++row) {
                const Eigen::Index at = (row * m_columns->groups() + column) * tileLines;
                float* const smallest = both ? ends.smallest.get() + at : nullptr;
                if (column >= needed[static_cast<std::size_t>(row)]) {
                    std::fill_n(ends.largest.get() + at, tileLines, -infinity);
                    if (both)
                        std::fill_n(smallest, tileLines, infinity);
                    continue;
                }
                ++multiplied;
                kernel.ends(rowTiles.data()->words.data() + row * rows.steps() * tileLines,
                            columns.tile(column), rows.steps(), columns.starts(column),
                            {ends.largest.get() + at, smallest, keep ? ofColumns.data() : nullptr});
                if (!keep)
                    continue;
                const Eigen::Index group = m_rows->groupOf(first + row);
                Eigen::Map<Ends> kept(endsOfColumns(column) + group * tileLines);
                if (first + row == m_rows->firstTile(group))
                    kept = ofColumns;
                else
                    kept = kept.cwiseMax(ofColumns);
            }
        }
        m_leftOut += count * groups - multiplied;
        return ends;
    }

    /// Finds how many groups of columns each tile of rows needs. \param begun groups that have been multiplied with all of them
    void boundRows(RowTileEnds& ends, Eigen::Index begun, std::vector<Eigen::Index>& needed,
                   const ScanKernel& kernel) const
    {
        if (begun >= ends.groups)
            return;
        ends.groups = begun;
        Eigen::Index most = 0;
        for (std::size_t row = 0; row < needed.size(); ++row) {
            const auto at = static_cast<Eigen::Index>(row);
            const float least = std::ranges::min(reached(ends, at, kernel));
            needed[row] = std::min(needed[row], m_byRow.groupsReaching(endsOf(ends, at, 1, kernel), least));
            most = std::max(most, needed[row]);
        }
        ends.groups = most;
    }

    /// [groups of rows, 64], the ends of the columns of a tile.
    float* endsOfColumns(Eigen::Index tile)
    {
        return m_ofColumns.get() + tile * m_rows->groups() * tileLines;
    }

    const RowScan& m_scan;
    Lines m_rows, m_columns;
    RowEnds& m_out;
    LineRanking m_byRow;
    std::unique_ptr<float[]> m_ofColumns;    // of tile after tile of columns; null: not taken
    bool m_leavesOut = false;                // whether tiles may be left out
    std::atomic<Eigen::Index> m_leftOut = 0; // tiles
};

/// \param kernel the fastest for which there are numbers
Result<RowEnds> scanned(const RowScan& scan, const Scan::Lines& rows, const Scan::Lines& columns,
                        const ScanKernel& kernel, const Task& task)
{
    RowEnds out;
    out.k = scan.k;
    const auto prepare = [&](Eigen::Index lines, std::vector<int>& ids, std::vector<double>& values) {
        const std::size_t answers = static_cast<std::size_t>(lines) * static_cast<std::size_t>(scan.k);
        ids.assign(answers, -1);
        values.assign(answers, notComputed);
    };
    prepare(scan.rows.factors.cols(), out.ids, out.values);
    if (scan.ends != ScanEnds::Largest)
        prepare(scan.rows.factors.cols(), out.lowestIds, out.lowestValues);
    if (scan.ends == ScanEnds::BothAndColumns)
        prepare(scan.cols.factors.cols(), out.columnIds, out.columnValues);
    if (rows->count() == 0 || columns->count() == 0)
        return out;
    {
        Scan all(scan, rows, columns, out);
        if (const auto done = all.run(kernel, task); !done)
            return done.error();
        out.skipped = all.leftOut();
        if (scan.ends != ScanEnds::BothAndColumns || all.hasColumns())
            return out;
    }
    auto ofColumns = scanned({scan.cols, scan.rows, scan.k, ScanEnds::Largest}, columns, rows, kernel, task);
    if (!ofColumns)
        return ofColumns.error();
    RowEnds found = std::move(ofColumns).value();
    out.columnIds = std::move(found.ids);
    out.columnValues = std::move(found.values);
    out.skipped = (out.skipped + found.skipped) / 2;
    return out;
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
    const bool isTooLong = scan.rows.factors.rows() > RoundedLines::longestOfBytes;
    const ScanKernel& kernel = wanted.isOfBytes && isTooLong ? kernelOfPairs() : wanted;
    auto columns = ScanLines::create(scan.cols, {1, kernel.isOfBytes}, task);
    if (!columns)
        return columns.error();
    auto rows = ScanLines::create(scan.rows, {1, kernel.isOfBytes}, task);
    if (!rows)
        return rows.error();
    return scanned(scan, std::make_shared<const ScanLines>(std::move(rows).value()),
                   std::make_shared<const ScanLines>(std::move(columns).value()), kernel, task);
}

} // namespace headwise
