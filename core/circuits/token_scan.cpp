#include "core/circuits/token_scan.h"

#include "core/base/matrix.h"
#include "core/base/parallel.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace headwise {

namespace {

constexpr Eigen::Index tileRows =
    512; // many rows and few columns, so that OpenBLAS rarely packs the factors for r = 64,
constexpr Eigen::Index tileCols = 512; // and the tile is still in the second-level cache when it is scanned
constexpr Eigen::Index tokenScanChunk =
    // entries of a row per chunk, of which only the largest is kept; divides tileCols
    64;
constexpr std::size_t spare = 4; // candidates beyond k, so that rounding rarely leaves the k-th in doubt

struct Candidate {
    float key; // the entry, negated when looking for the smallest
    int id;
};

bool isEarlierToken(const Candidate& a, const Candidate& b)
{
    return a.key > b.key || (a.key == b.key && a.id < b.id);
}

/// Keeps the first `limit` candidates, in any order. Returns the key of the last of them, −∞ if notComputed was dropped.
float keepFirst(std::vector<Candidate>& candidates, std::size_t limit)
{
    if (candidates.size() <= limit)
        return -std::numeric_limits<float>::infinity();
    const auto last = candidates.begin() + static_cast<std::ptrdiff_t>(limit) - 1;
    std::nth_element(candidates.begin(), last, candidates.end(), isEarlierToken);
    const float key = last->key;
    candidates.resize(limit);
    return key;
}

/// Returns a key that at least `limit` of these reach, from the largest of every few; −∞ if there are too few.
template <typename Keys>
float commonKey(const Keys& keys, std::size_t limit)
{
    constexpr Eigen::Index few = 8;
    std::vector<float> largest(static_cast<std::size_t>(keys.size() / few));
    if (largest.size() < limit)
        return -std::numeric_limits<float>::infinity();
    for (std::size_t i = 0; i < largest.size(); ++i)
        largest[i] = keys.template segment<few>(static_cast<Eigen::Index>(i) * few).maxCoeff();
    const auto last = largest.begin() + static_cast<std::ptrdiff_t>(limit) - 1;
    std::nth_element(largest.begin(), last, largest.end(), std::greater<>());
    return *last;
}

/// The columns in use, transposed and cut into tiles once for all blocks of rows.
class Columns {
public:
    static Result<Columns> create(const RowScan& scan, const Task& task)
    {
        Columns columns;
        columns.m_ids.reserve(static_cast<std::size_t>(scan.colFactors.cols()));
        for (int id = 0; id < scan.colFactors.cols(); ++id) {
            if (scan.unusedCols.empty() || !scan.unusedCols[static_cast<std::size_t>(id)])
                columns.m_ids.push_back(id);
        }
        columns.m_tiles.resize((columns.m_ids.size() + tileCols - 1) / tileCols);
        constexpr float infinite = std::numeric_limits<float>::infinity();
        Eigen::VectorXf lengths(static_cast<Eigen::Index>(columns.m_tiles.size()));
        const auto turn = [&](int tile) -> Result<Done> {
            const Eigen::Index first = tile * tileCols;
            const Eigen::Index count = std::min(tileCols, columns.count() - first);
            const auto ids = Eigen::Map<const Eigen::VectorXi>(columns.m_ids.data() + first, count);
            const Matrix<float> factors = scan.colFactors(Eigen::all, ids);
            lengths(tile) = factors.allFinite() ? factors.colwise().norm().maxCoeff() : infinite;
            columns.m_tiles[static_cast<std::size_t>(tile)] = factors.transpose();
            return Done{};
        };
        const auto done = parallelFor(static_cast<int>(columns.m_tiles.size()), task, "columns", turn);
        if (!done)
            return done.error();
        if (lengths.size() > 0)
            columns.m_longest = lengths.maxCoeff();
        return columns;
    }

    Eigen::Index count() const { return static_cast<Eigen::Index>(m_ids.size()); }
    Eigen::Index chunks() const { return (count() + tokenScanChunk - 1) / tokenScanChunk; }
    const std::vector<int>& ids() const { return m_ids; }
    const std::vector<Matrix<float>>& tiles() const { return m_tiles; } ///< Each [tileCols or the rest, r].
    /// The largest Euclidean norm of a column; infinite if one holds a NaN or an infinity.
    float longest() const { return m_longest; }

private:
    std::vector<int> m_ids; // rising
    std::vector<Matrix<float>> m_tiles;
    float m_longest = 0;
};

/// One block of rows that is multiplied with all columns.
///
/// Only the largest entry of each chunk of a row is kept. The n largest entries of a row lie in the n chunks whose
/// largest entries are largest, so ranking needs only a few chunks, which are multiplied again.
class BlockScan {
public:
    BlockScan(const RowScan& scan, const Columns& columns, RowEnds& out, Eigen::Index first,
              Eigen::Index count)
        : m_scan(scan)
        , m_columns(columns)
        , m_out(out)
        , m_first(first)
        , m_count(count)
        , m_largest(columns.chunks(), count)
    {
        if (scan.ends == ScanEnds::Both)
            m_least.resize(columns.chunks(), count);
    }

    Result<Done> run(const Task& task)
    {
        const auto rows = m_scan.rowFactors.middleCols(m_first, m_count);
        Matrix<float> entries; // [columns of a tile, rows]: the entries of a row are contiguous
        Eigen::Index first = 0;
        for (const Matrix<float>& tile : m_columns.tiles()) {
            if (task.cancelled())
                return stopped();
            entries.noalias() = tile * rows;
            for (Eigen::Index row = 0; row < m_count; ++row) {
                for (Eigen::Index at = 0; at < tile.rows(); at += tokenScanChunk)
                    look(entries.col(row).data() + at, std::min(tokenScanChunk, tile.rows() - at),
                         first + at / tokenScanChunk, row);
            }
            first += tileCols / tokenScanChunk;
        }
        if (const auto done = rank(m_largest, 1, m_out.ids, m_out.values, task); !done)
            return done;
        return m_least.size() == 0 ? Done{} : rank(m_least, -1, m_out.lowestIds, m_out.lowestValues, task);
    }

private:
    void look(const float* values, Eigen::Index count, Eigen::Index index, Eigen::Index row)
    {
        const Eigen::Map<const Eigen::Array<float, tokenScanChunk, 1>> whole(values);
        const Eigen::Map<const Eigen::ArrayXf> rest(values, count);
        m_largest(index, row) = count == tokenScanChunk ? whole.maxCoeff() : rest.maxCoeff();
        if (m_least.size() > 0)
            m_least(index, row) = count == tokenScanChunk ? whole.minCoeff() : rest.minCoeff();
    }

    struct Exact {
        double key;
        int id;
        bool operator<(const Exact& other) const
        {
            return key > other.key || (key == other.key && id < other.id);
        }
    };

    /// State of one row before it is ranked.
    struct Open {
        float elsewhere = 0; // no entry outside the chosen chunks is larger
        std::vector<Candidate> candidates;
    };

    /// Ranks all rows by `extremes`, the largest (sign 1) or smallest (sign −1) entry of each of their chunks.
    Result<Done> rank(const Matrix<float>& extremes, float sign, std::vector<int>& ids,
                      std::vector<double>& values, const Task& task)
    {
        std::vector<Open> open(static_cast<std::size_t>(m_count));
        std::vector<std::vector<int>> rowsOf(static_cast<std::size_t>(m_columns.chunks()));
        for (int row = 0; row < m_count; ++row) {
            if (isUsed(row))
                open[static_cast<std::size_t>(row)].elsewhere =
                    choose(sign * extremes.col(row).array(), row, rowsOf);
        }
        for (std::size_t index = 0; index < rowsOf.size(); ++index) {
            if (task.cancelled())
                return stopped();
            collect(static_cast<Eigen::Index>(index), rowsOf[index], sign, open);
        }
        for (int row = 0; row < m_count; ++row) {
            if (task.cancelled())
                return stopped();
            if (isUsed(row))
                put(m_first + row, ranked(m_first + row, open[static_cast<std::size_t>(row)], sign), sign,
                    ids, values);
        }
        return Done{};
    }

    bool isUsed(Eigen::Index row) const
    {
        return m_scan.unusedRows.empty() || !m_scan.unusedRows[static_cast<std::size_t>(m_first + row)];
    }

    std::size_t limit() const { return static_cast<std::size_t>(m_out.k) + spare; }

    /// Records the chunks that must contain the first entries of a row. Returns a key that notComputed elsewhere exceeds.
    template <typename Keys>
    float choose(const Keys& keys, int row, std::vector<std::vector<int>>& rowsOf) const
    {
        const float common = commonKey(keys, limit());
        std::vector<Candidate> chunks;
        for (int index = 0; index < keys.size(); ++index) {
            if (keys(index) >= common)
                chunks.push_back({keys(index), index});
        }
        const float last = keepFirst(chunks, limit());
        for (const Candidate& wanted : chunks)
            rowsOf[static_cast<std::size_t>(wanted.id)].push_back(row);
        return std::max(common, last);
    }

    /// Multiplies a chunk again with the rows that need it.
    void collect(Eigen::Index index, const std::vector<int>& rows, float sign, std::vector<Open>& open) const
    {
        if (rows.empty())
            return;
        const Eigen::Index first = index * tokenScanChunk;
        const Matrix<float>& tile = m_columns.tiles()[static_cast<std::size_t>(first / tileCols)];
        const Eigen::Index inTile = first % tileCols;
        const Matrix<float> wanted = m_scan.rowFactors.middleCols(m_first, m_count)(Eigen::all, rows);
        const Matrix<float> entries =
            sign * tile.middleRows(inTile, std::min(tokenScanChunk, tile.rows() - inTile)) * wanted;
        for (Eigen::Index i = 0; i < entries.cols(); ++i) {
            Open& row = open[static_cast<std::size_t>(rows[static_cast<std::size_t>(i)])];
            for (Eigen::Index col = 0; col < entries.rows(); ++col) {
                if (entries(col, i) >= row.elsewhere)
                    row.candidates.push_back(
                        {entries(col, i), m_columns.ids()[static_cast<std::size_t>(first + col)]});
            }
        }
    }

    std::vector<Exact> ranked(Eigen::Index row, Open& open, float sign) const
    {
        const float others = std::max(open.elsewhere, keepFirst(open.candidates, limit()));
        std::vector<Exact> entries;
        entries.reserve(open.candidates.size());
        for (const Candidate& candidate : open.candidates)
            entries.push_back({sign * m_scan.exact(row, candidate.id), candidate.id});
        std::sort(entries.begin(), entries.end());
        const std::size_t k = static_cast<std::size_t>(m_out.k);
        const double doubt = rounding(row);
        if (static_cast<Eigen::Index>(entries.size()) == m_columns.count() || doubt == 0
            || (entries.size() >= k && double(others) + doubt < entries[k - 1].key))
            return entries;
        return rankedExactly(row, sign);
    }

    std::vector<Exact> rankedExactly(Eigen::Index row, float sign) const
    {
        std::vector<Exact> entries;
        entries.reserve(m_columns.ids().size());
        for (const int id : m_columns.ids())
            entries.push_back({sign * m_scan.exact(row, id), id});
        const std::size_t listed = std::min(static_cast<std::size_t>(m_out.k), entries.size());
        std::partial_sort(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(listed),
                          entries.end());
        return entries;
    }

    /// Bounds the float32 error of an entry of this row: rounded factors and r rounded sums.
    double rounding(Eigen::Index row) const
    {
        const double unit = std::numeric_limits<float>::epsilon();
        const double terms = static_cast<double>(m_scan.rowFactors.rows()) + 4;
        return unit * terms * double(m_scan.rowFactors.col(row).norm()) * double(m_columns.longest());
    }

    void put(Eigen::Index row, const std::vector<Exact>& entries, double sign, std::vector<int>& ids,
             std::vector<double>& values) const
    {
        const std::size_t k = static_cast<std::size_t>(m_out.k);
        for (std::size_t i = 0; i < std::min(k, entries.size()); ++i) {
            ids[static_cast<std::size_t>(row) * k + i] = entries[i].id;
            values[static_cast<std::size_t>(row) * k + i] = sign * entries[i].key;
        }
    }

    const RowScan& m_scan;
    const Columns& m_columns;
    RowEnds& m_out;
    Eigen::Index m_first, m_count;
    Matrix<float> m_largest, m_least; // [chunks, rows]; m_least empty if only the largest are needed
};

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
    const Eigen::Index rows = scan.rowFactors.cols();
    const auto columns = Columns::create(scan, task);
    if (!columns)
        return columns.error();
    if (!std::isfinite(columns->longest()) || !scan.rowFactors.allFinite()) {
        return Error{
            ErrorCode::Corrupt,
            "A factor of this circuit holds NaN or infinity, so its entries have no order; check the checkpoint for NaN, infinite or very large numbers."};
    }
    RowEnds out;
    out.k = scan.k;
    const std::size_t answers = static_cast<std::size_t>(rows) * static_cast<std::size_t>(scan.k);
    out.ids.assign(answers, -1);
    out.values.assign(answers, notComputed);
    if (scan.ends == ScanEnds::Both) {
        out.lowestIds.assign(answers, -1);
        out.lowestValues.assign(answers, notComputed);
    }
    const Eigen::Index blocks = (rows / tileRows + 4) / 4 * 4; // so that few cores share them evenly
    const Eigen::Index size = (rows + blocks - 1) / blocks;
    const auto run = [&](int block) -> Result<Done> {
        const Eigen::Index first = std::min(rows, block * size);
        return BlockScan(scan, *columns, out, first, std::min(size, rows - first)).run(task);
    };
    const auto done = parallelFor(static_cast<int>(blocks), task, "blocks of tokens", run);
    if (!done)
        return done.error();
    return out;
}

} // namespace headwise
