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

namespace headwise {

namespace {

// Only the largest and smallest entry of each chunk of a row are kept; a chunk is one tile of the kernel.
constexpr Eigen::Index tokenScanChunk = ScanKernel::columns;
constexpr Eigen::Index rowsAtOnce = ScanKernel::rows;
constexpr Eigen::Index rowsOfBlock = 512; // their factors stay in the second-level cache
constexpr std::size_t spare = 4; // candidates beyond k, so that rounding rarely leaves the k-th in doubt

struct Candidate {
    float key; // the entry, negated when looking for the smallest
    int id;
};

bool isEarlierToken(const Candidate& a, const Candidate& b)
{
    return a.key > b.key || (a.key == b.key && a.id < b.id);
}

/// Keeps the first `limit` candidates, in any order. Returns the key of the last of them, −∞ if nothing was dropped.
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

/// Keys of one row with the largest of every few, so that most are passed over.
class ChunkKeys {
public:
    explicit ChunkKeys(const Eigen::VectorXf& keys)
        : m_keys(keys)
        , m_largest((keys.size() + few - 1) / few)
    {
        for (Eigen::Index i = 0; i < m_largest.size(); ++i)
            m_largest(i) = (i + 1) * few <= keys.size() ? keys.segment<few>(i * few).maxCoeff()
                                                        : keys.tail(keys.size() - i * few).maxCoeff();
    }

    /// Returns a key that at least `limit` of these reach, −∞ if there are too few groups to tell.
    float reachedBy(std::size_t limit) const
    {
        if (static_cast<std::size_t>(m_largest.size()) < limit)
            return -std::numeric_limits<float>::infinity();
        Eigen::VectorXf sorted = m_largest;
        float* last = sorted.data() + limit - 1;
        std::nth_element(sorted.data(), last, sorted.data() + sorted.size(), std::greater<>());
        return *last;
    }

    std::vector<Candidate> atLeast(float key) const
    {
        std::vector<Candidate> found;
        for (Eigen::Index i = 0; i < m_largest.size(); ++i) {
            if (m_largest(i) < key)
                continue;
            for (Eigen::Index index = i * few; index < std::min((i + 1) * few, m_keys.size()); ++index) {
                if (m_keys(index) >= key)
                    found.push_back({m_keys(index), static_cast<int>(index)});
            }
        }
        return found;
    }

private:
    static constexpr Eigen::Index few = 8;

    const Eigen::VectorXf& m_keys;
    Eigen::VectorXf m_largest;
};

/// The columns in use as tiles of the kernel, for all blocks of rows.
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
        columns.m_linesPerTile = scan.colFactors.rows() * tokenScanChunk / lineSize;
        columns.m_lines.resize(static_cast<std::size_t>(columns.chunks() * columns.m_linesPerTile));
        Eigen::VectorXf lengths(columns.chunks());
        const auto turn = [&](int index) -> Result<Done> {
            std::array<int, tokenScanChunk> ids{};
            const std::span<const int> own = columns.idsOf(index);
            for (std::size_t i = 0; i < ids.size(); ++i)
                ids[i] = own[std::min(i, own.size() - 1)]; // the last one again is no new end
            const Matrix<float> factors = scan.colFactors(Eigen::all, ids);
            lengths(index) = factors.allFinite() ? factors.colwise().norm().maxCoeff()
                                                 : std::numeric_limits<float>::infinity();
            Eigen::Map<Matrix<float>>(columns.line(index), tokenScanChunk, factors.rows()) =
                factors.transpose();
            return Done{};
        };
        const auto done = parallelFor(static_cast<int>(columns.chunks()), task, "columns", turn);
        if (!done)
            return done.error();
        if (lengths.size() > 0)
            columns.m_longest = lengths.maxCoeff();
        return columns;
    }

    Eigen::Index count() const { return static_cast<Eigen::Index>(m_ids.size()); }
    Eigen::Index chunks() const { return (count() + tokenScanChunk - 1) / tokenScanChunk; }
    const std::vector<int>& ids() const { return m_ids; }
    /// The columns of one chunk; the last one may have fewer than a tile.
    std::span<const int> idsOf(Eigen::Index chunk) const
    {
        const Eigen::Index first = chunk * tokenScanChunk;
        return std::span(m_ids).subspan(static_cast<std::size_t>(first),
                                        static_cast<std::size_t>(std::min(tokenScanChunk, count() - first)));
    }
    const float* tile(Eigen::Index chunk) const { return line(chunk); }
    /// The largest Euclidean norm of a column; infinite if one holds a NaN or an infinity.
    float longest() const { return m_longest; }

private:
    static constexpr Eigen::Index lineSize = 16;
    struct alignas(64) Line { // of the cache; a vector is loaded from one of them
        std::array<float, lineSize> numbers;
    };

    const float* line(Eigen::Index chunk) const
    {
        return m_lines[static_cast<std::size_t>(chunk * m_linesPerTile)].numbers.data();
    }
    float* line(Eigen::Index chunk)
    {
        return m_lines[static_cast<std::size_t>(chunk * m_linesPerTile)].numbers.data();
    }

    std::vector<int> m_ids; // rising
    std::vector<Line> m_lines;
    Eigen::Index m_linesPerTile = 0;
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
        , m_kernel(scanKernels().front())
        , m_largest(columns.chunks(), count)
    {
        if (scan.ends == ScanEnds::Both)
            m_least.resize(columns.chunks(), count);
    }

    Result<Done> run(const Task& task)
    {
        const Eigen::Index inner = m_scan.rowFactors.rows();
        const Matrix<float> rows = rowsInGroups();
        for (Eigen::Index chunk = 0; chunk < m_columns.chunks(); ++chunk) {
            if (task.cancelled())
                return stopped();
            for (Eigen::Index row = 0; row < m_count; row += rowsAtOnce)
                look(chunk, row, rows.data() + row * inner);
        }
        if (const auto done = rank(m_largest, 1, m_out.ids, m_out.values, task); !done)
            return done;
        return m_least.size() == 0 ? Done{} : rank(m_least, -1, m_out.lowestIds, m_out.lowestValues, task);
    }

private:
    /// The factors of every six rows side by side, as the kernel takes them; the last ones filled up with zeros.
    Matrix<float> rowsInGroups() const
    {
        const Eigen::Index inner = m_scan.rowFactors.rows();
        const Eigen::Index groups = (m_count + rowsAtOnce - 1) / rowsAtOnce;
        Matrix<float> rows = Matrix<float>::Zero(rowsAtOnce, groups * inner);
        for (Eigen::Index group = 0; group < groups; ++group) {
            const Eigen::Index first = group * rowsAtOnce;
            const Eigen::Index count = std::min(rowsAtOnce, m_count - first);
            rows.block(0, group * inner, count, inner) =
                m_scan.rowFactors.middleCols(m_first + first, count).transpose();
        }
        return rows;
    }

    void look(Eigen::Index chunk, Eigen::Index first, const float* rows)
    {
        std::array<float, rowsAtOnce> largest{};
        std::array<float, rowsAtOnce> least{};
        m_kernel.ends(m_columns.tile(chunk), rows, m_scan.rowFactors.rows(), largest.data(), least.data());
        for (Eigen::Index i = 0; i < std::min(rowsAtOnce, m_count - first); ++i) {
            m_largest(chunk, first + i) = largest[static_cast<std::size_t>(i)];
            if (m_least.size() > 0)
                m_least(chunk, first + i) = least[static_cast<std::size_t>(i)];
        }
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
                open[static_cast<std::size_t>(row)].elsewhere = choose(sign * extremes.col(row), row, rowsOf);
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

    /// Records the chunks that must contain the first entries of a row. Returns a key that nothing elsewhere exceeds.
    float choose(const Eigen::VectorXf& keys, int row, std::vector<std::vector<int>>& rowsOf) const
    {
        const ChunkKeys grouped(keys);
        const float common = grouped.reachedBy(limit());
        std::vector<Candidate> chunks = grouped.atLeast(common);
        const float last = keepFirst(chunks, limit());
        for (const Candidate& wanted : chunks)
            rowsOf[static_cast<std::size_t>(wanted.id)].push_back(row);
        return std::max(common, last);
    }

    /// Multiplies a chunk again with the rows that need it.
    void collect(Eigen::Index chunk, const std::vector<int>& rows, float sign, std::vector<Open>& open) const
    {
        const std::span<const int> ids = m_columns.idsOf(chunk);
        alignas(64) std::array<float, tokenScanChunk> entries{};
        for (const int index : rows) {
            m_kernel.entries(m_columns.tile(chunk), m_scan.rowFactors.col(m_first + index).data(),
                             m_scan.rowFactors.rows(), entries.data());
            Open& row = open[static_cast<std::size_t>(index)];
            for (std::size_t col = 0; col < ids.size(); ++col) {
                if (const float key = sign * entries[col]; key >= row.elsewhere)
                    row.candidates.push_back({key, ids[col]});
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
    const ScanKernel& m_kernel;
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
    const Eigen::Index blocks = (rows / rowsOfBlock + 4) / 4 * 4; // so that few cores share them evenly
    const Eigen::Index groups = (rows + blocks * rowsAtOnce - 1) / (blocks * rowsAtOnce); // of the kernel
    const Eigen::Index size = groups * rowsAtOnce;
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
