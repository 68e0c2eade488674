#include "core/analysis/token_scan.h"

#include "core/base/parallel.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace headwise {

namespace {

constexpr Eigen::Index tileRows = 256;
constexpr Eigen::Index tileCols = 512;
constexpr Eigen::Index chunk = 32; // entries looked at by one vector maximum
constexpr std::size_t spare = 8;   // candidates beyond k, so that rounding rarely leaves the k-th in doubt

struct Candidate {
    float key; // the entry, negated when the smallest are sought
    int id;
};

bool isBefore(const Candidate& a, const Candidate& b)
{
    return a.key > b.key || (a.key == b.key && a.id < b.id);
}

/// The `limit` largest keys seen so far, and a threshold below which nothing need be offered. Ids arrive rising, so an equal
/// key comes too late.
class Best {
public:
    explicit Best(std::size_t limit)
        : m_limit(limit)
    {
        m_candidates.reserve(2 * limit + chunk);
    }

    float threshold() const { return m_threshold; }
    void offer(float key, int id)
    {
        m_candidates.push_back({key, id});
        if (m_candidates.size() >= 2 * m_limit + chunk)
            shrink();
    }
    const std::vector<Candidate>& sorted()
    {
        shrink();
        std::sort(m_candidates.begin(), m_candidates.end(), isBefore);
        return m_candidates;
    }
    void shrink()
    {
        if (m_candidates.size() < m_limit)
            return;
        const auto last = m_candidates.begin() + static_cast<std::ptrdiff_t>(m_limit) - 1;
        std::nth_element(m_candidates.begin(), last, m_candidates.end(), isBefore);
        m_threshold = last->key;
        m_candidates.resize(m_limit);
    }

private:
    std::size_t m_limit;
    float m_threshold = -std::numeric_limits<float>::infinity();
    std::vector<Candidate> m_candidates;
};

/// One block of rows on its way through all columns.
class BlockScan {
public:
    BlockScan(const RowScan& scan, RowEnds& out, Eigen::Index first, Eigen::Index count, float longestColumn)
        : m_scan(scan)
        , m_out(out)
        , m_first(first)
        , m_count(count)
        , m_longestColumn(longestColumn)
    {
        const auto limit = std::min<std::size_t>(static_cast<std::size_t>(out.k) + spare,
                                                 static_cast<std::size_t>(scan.colFactors.cols()));
        m_best.assign(static_cast<std::size_t>(count), Best(limit));
        if (scan.ends == ScanEnds::Both)
            m_least.assign(static_cast<std::size_t>(count), Best(limit));
    }

    Result<Done> run(const Task& task)
    {
        Matrix<float> tile;
        const Eigen::Index cols = m_scan.colFactors.cols();
        for (Eigen::Index first = 0; first < cols; first += tileCols) {
            if (task.cancelled())
                return stopped();
            const Eigen::Index count = std::min(tileCols, cols - first);
            tile.noalias() = m_scan.colFactors.middleCols(first, count).transpose()
                * m_scan.rowFactors.middleCols(m_first,
                                               m_count); // [cols, rows]: a row's entries lie together
            for (Eigen::Index row = 0; row < m_count; ++row)
                look(tile.col(row).data(), count, static_cast<int>(first), static_cast<std::size_t>(row));
        }
        for (Eigen::Index row = 0; row < m_count; ++row) {
            if (task.cancelled())
                return stopped();
            rank(row);
        }
        return Done{};
    }

private:
    bool isUnused(int id) const
    {
        return !m_scan.unusedCols.empty() && m_scan.unusedCols[static_cast<std::size_t>(id)];
    }

    void look(const float* values, Eigen::Index count, int firstId, std::size_t row)
    {
        using Chunk = Eigen::Map<const Eigen::Array<float, chunk, 1>>;
        Best& best = m_best[row];
        Best* least = m_least.empty() ? nullptr : &m_least[row];
        Eigen::Index at = 0;
        for (; at + chunk <= count; at += chunk) {
            const Chunk part(values + at);
            if (part.maxCoeff() > best.threshold())
                pick(values + at, chunk, firstId + static_cast<int>(at), best, 1);
            if (least && -part.minCoeff() > least->threshold())
                pick(values + at, chunk, firstId + static_cast<int>(at), *least, -1);
        }
        pick(values + at, count - at, firstId + static_cast<int>(at), best, 1);
        if (least)
            pick(values + at, count - at, firstId + static_cast<int>(at), *least, -1);
    }

    void pick(const float* values, Eigen::Index count, int firstId, Best& best, float sign) const
    {
        for (Eigen::Index i = 0; i < count; ++i) {
            const int id = firstId + static_cast<int>(i);
            if (sign * values[i] > best.threshold() && !isUnused(id))
                best.offer(sign * values[i], id);
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

    void rank(Eigen::Index row)
    {
        const Eigen::Index index = m_first + row;
        if (!m_scan.unusedRows.empty() && m_scan.unusedRows[static_cast<std::size_t>(index)])
            return;
        put(index, ranked(index, m_best[static_cast<std::size_t>(row)], 1), 1, m_out.ids, m_out.values);
        if (!m_least.empty())
            put(index, ranked(index, m_least[static_cast<std::size_t>(row)], -1), -1, m_out.lowestIds,
                m_out.lowestValues);
    }

    std::vector<Exact> ranked(Eigen::Index row, Best& best, double sign) const
    {
        const std::vector<Candidate>& candidates = best.sorted();
        std::vector<Exact> entries;
        for (const Candidate& candidate : candidates)
            entries.push_back({sign * m_scan.exact(row, candidate.id), candidate.id});
        std::sort(entries.begin(), entries.end());
        const std::size_t k = static_cast<std::size_t>(m_out.k);
        const bool isComplete = entries.size() < k + spare
            || entries.size() == static_cast<std::size_t>(m_scan.colFactors.cols());
        if (isComplete || double(candidates.back().key) + rounding(row) < entries[k - 1].key
            || rounding(row) == 0)
            return entries;
        entries.clear();
        for (int id = 0; id < m_scan.colFactors.cols(); ++id) {
            if (!isUnused(id))
                entries.push_back({sign * m_scan.exact(row, id), id});
        }
        std::partial_sort(entries.begin(),
                          entries.begin() + static_cast<std::ptrdiff_t>(std::min(k, entries.size())),
                          entries.end());
        return entries;
    }

    /// How far an entry of this row in float32 may be from the exact one: rounded factors and r rounded sums.
    double rounding(Eigen::Index row) const
    {
        const double unit = std::numeric_limits<float>::epsilon();
        const double terms = static_cast<double>(m_scan.rowFactors.rows()) + 4;
        return unit * terms * double(m_scan.rowFactors.col(row).norm()) * double(m_longestColumn);
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
    RowEnds& m_out;
    Eigen::Index m_first, m_count;
    float m_longestColumn;
    std::vector<Best> m_best, m_least;
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
    const float longest = scan.colFactors.colwise().norm().maxCoeff();
    if (!std::isfinite(longest) || !scan.rowFactors.allFinite()) {
        return Error{ErrorCode::Corrupt,
                     "A factor of this circuit holds a NaN or an infinity, so its entries have no order; "
                     "check the checkpoint "
                     "for numbers that are not finite."};
    }
    RowEnds out;
    out.k = scan.k;
    const std::size_t size = static_cast<std::size_t>(rows) * static_cast<std::size_t>(scan.k);
    const double none = std::numeric_limits<double>::quiet_NaN();
    out.ids.assign(size, -1);
    out.values.assign(size, none);
    if (scan.ends == ScanEnds::Both) {
        out.lowestIds.assign(size, -1);
        out.lowestValues.assign(size, none);
    }
    const int blocks = static_cast<int>((rows + tileRows - 1) / tileRows);
    const auto done = parallelFor(blocks, task, "blocks of tokens", [&](int block) -> Result<Done> {
        const Eigen::Index first = block * tileRows;
        return BlockScan(scan, out, first, std::min(tileRows, rows - first), longest).run(task);
    });
    if (!done)
        return done.error();
    return out;
}

} // namespace headwise
