#include "core/circuits/largest_entries.h"

#include "core/base/decompositions.h"
#include "core/base/parallel.h"
#include "core/circuits/gaussian_order.h"
#include "core/circuits/row_moments.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <mutex>
#include <tuple>

namespace headwise {

namespace {

constexpr Eigen::Index largestEntriesBlockRows = 256;
constexpr Eigen::Index largestEntriesBlockCols = 512;
constexpr Eigen::Index largestEntriesChunk = 32; // entries that one vector maximum covers
constexpr std::size_t tilesPerBatch = 16;        // tiles that share one buffer
// relative to a Gram matrix's mean eigenvalue; keeps T invertible
constexpr double ridge = 1e-6;

bool isEarlierEntry(const MatrixEntry& a, const MatrixEntry& b)
{
    return std::tuple(-a.value, a.row, a.col) < std::tuple(-b.value, b.row, b.col);
}

/// The basis in which both factors have the same Gram matrix.
struct Balance {
    Matrix<double> forth, back; // T and T⁻¹, [r, r]
    /// The relative amount by which ‖l T‖ ‖T⁻¹ r‖ may fall below |l · r| in floating point.
    double slack = 0;
};

/// T = A^(−1/2) W Λ^(1/4), where A and B are the Gram matrices of the sides and W Λ Wᵀ = A^(1/2) B A^(1/2):
/// then Tᵀ A T = Λ^(1/2) = T⁻¹ B T⁻ᵀ.
Result<Balance> balance(Matrix<double> A, Matrix<double> B)
{
    const double size = static_cast<double>(A.rows());
    A.diagonal().array() += ridge * A.trace() / size;
    B.diagonal().array() += ridge * B.trace() / size;
    const auto rows = thinSvd(A);
    if (!rows)
        return rows.error();
    const Eigen::VectorXd root = rows->S.cwiseSqrt();
    const Matrix<double> half = rows->U * root.asDiagonal() * rows->U.transpose();
    const Matrix<double> inverse = rows->U * root.cwiseInverse().asDiagonal() * rows->U.transpose();
    const auto core = thinSvd(half * B * half);
    if (!core)
        return core.error();
    const Eigen::VectorXd fourth = core->S.cwiseSqrt().cwiseSqrt();
    Balance out;
    out.forth = inverse * core->U * fourth.asDiagonal();
    out.back = fourth.cwiseInverse().asDiagonal() * core->U.transpose() * half;
    const double condition = out.forth.norm() * out.back.norm();
    const double residual =
        (out.forth * out.back - Matrix<double>::Identity(out.forth.rows(), out.forth.rows())).norm();
    out.slack = condition * (residual + 4 * size * std::numeric_limits<double>::epsilon() * condition);
    return out;
}

/// One side of the matrix: its tokens sorted by falling bound.
struct Side {
    std::vector<int> ids;        // tokens in use
    std::vector<double> bounds;  // ‖token · T‖
    Matrix<double> exact;        // [r, ids], unscaled
    double scale = 1;            // 1 / length of the longest token
    Matrix<float> rounded;       // [r, ids], exact · scale
    std::vector<double> lengths; // lengths of the rounded columns

    Eigen::Index size() const { return static_cast<Eigen::Index>(ids.size()); }
    double bound(Eigen::Index at) const { return bounds[static_cast<std::size_t>(at)]; }
    int id(Eigen::Index at) const { return ids[static_cast<std::size_t>(at)]; }
    double longest(Eigen::Index first, Eigen::Index count) const
    {
        return *std::max_element(lengths.begin() + first, lengths.begin() + first + count);
    }
    /// Counts the tokens of [first, first + count) that can reach `threshold` with a partner of this bound.
    Eigen::Index reaching(Eigen::Index first, Eigen::Index count, double partner, double threshold) const
    {
        const auto begin = bounds.begin() + first;
        return std::partition_point(begin, begin + count,
                                    [&](double bound) { return bound * partner >= threshold; })
            - begin;
    }
};

/// \param tokens [V, r] \param T [r, r]
template <typename Tokens>
Side sortedSide(const Tokens& tokens, const std::vector<int>& used, const Matrix<double>& T)
{
    const Matrix<double> moved = tokens * T;
    const Eigen::VectorXd bounds = moved.rowwise().norm();
    Side side;
    side.ids = used;
    std::stable_sort(side.ids.begin(), side.ids.end(), [&](int a, int b) { return bounds(a) > bounds(b); });
    side.exact.resize(tokens.cols(), side.size());
    for (Eigen::Index first = 0; first < side.size();
         first += largestEntriesBlockRows) { // a block stays in cache
        const Eigen::Index end = std::min(first + largestEntriesBlockRows, side.size());
        for (Eigen::Index k = 0; k < tokens.cols(); ++k) {
            for (Eigen::Index i = first; i < end; ++i)
                side.exact(k, i) = tokens(side.id(i), k);
        }
    }
    const RowVector<double> lengths = side.exact.colwise().norm();
    side.scale = lengths.maxCoeff() > 0 ? 1 / lengths.maxCoeff() : 1;
    side.rounded = (side.exact * side.scale).template cast<float>();
    for (Eigen::Index i = 0; i < side.size(); ++i) {
        side.bounds.push_back(bounds(side.id(i)));
        side.lengths.push_back(lengths(i) * side.scale);
    }
    return side;
}

/// The best entries so far, shared by all threads.
class Best {
public:
    explicit Best(std::size_t count)
        : m_count(count)
    {
    }

    /// An entry below this is not among the `count` largest.
    double threshold() const { return m_threshold.load(std::memory_order_relaxed); }

    void offer(const std::vector<MatrixEntry>& entries)
    {
        const std::lock_guard lock(m_mutex);
        m_entries.insert(m_entries.end(), entries.begin(), entries.end());
        if (m_entries.size() >= m_count + std::max<std::size_t>(m_count / 4, 64)
            || (m_entries.size() >= m_count && std::isinf(threshold())))
            shrink();
    }

    std::vector<MatrixEntry> sorted()
    {
        std::sort(m_entries.begin(), m_entries.end(), isEarlierEntry);
        m_entries.resize(std::min(m_entries.size(), m_count));
        return std::move(m_entries);
    }

private:
    void shrink()
    {
        const auto last = m_entries.begin() + static_cast<std::ptrdiff_t>(m_count) - 1;
        std::nth_element(m_entries.begin(), last, m_entries.end(), isEarlierEntry);
        m_threshold.store(last->value, std::memory_order_relaxed);
        m_entries.resize(m_count);
    }

    std::size_t m_count;
    std::mutex m_mutex;
    std::vector<MatrixEntry> m_entries;
    std::atomic<double> m_threshold = -std::numeric_limits<double>::infinity();
};

struct Tile {
    Eigen::Index row, col; // first entry of the tile
    double bound;
};

std::vector<Tile> tilesByBound(const Side& rows, const Side& cols)
{
    std::vector<Tile> tiles;
    for (Eigen::Index row = 0; row < rows.size(); row += largestEntriesBlockRows) {
        for (Eigen::Index col = 0; col < cols.size(); col += largestEntriesBlockCols)
            tiles.push_back({row, col, rows.bound(row) * cols.bound(col)});
    }
    std::stable_sort(tiles.begin(), tiles.end(),
                     [](const Tile& a, const Tile& b) { return a.bound > b.bound; });
    return tiles;
}

class LargestEntriesSearch {
public:
    LargestEntriesSearch(const Side& rows, const Side& cols, std::size_t count, double slack)
        : m_rows(rows)
        , m_cols(cols)
        , m_count(count)
        , m_slack(1 + slack)
        , m_best(count)
        , m_tiles(tilesByBound(rows, cols))
    {
    }

    Result<std::vector<MatrixEntry>> run(const Task& task)
    {
        const std::size_t batches = (m_tiles.size() + tilesPerBatch - 1) / tilesPerBatch;
        std::atomic<std::size_t> next = 0; // the largest bounds first, whichever batch a thread gets
        const auto done =
            parallelFor(static_cast<int>(batches), task, "tiles of the matrix", [&](int) -> Result<Done> {
                const std::size_t first = tilesPerBatch * next++;
                Matrix<float> products;
                for (std::size_t i = first; i < std::min(first + tilesPerBatch, m_tiles.size()); ++i) {
                    if (task.cancelled())
                        return stopped();
                    visit(m_tiles[i], products);
                }
                return Done{};
            });
        if (!done)
            return done.error();
        return m_best.sorted();
    }

private:
    struct Candidate {
        float key;
        Eigen::Index row, col; // positions in the sorted sides
    };

    void visit(const Tile& tile, Matrix<float>& products)
    {
        const double threshold = m_best.threshold();
        if (tile.bound * m_slack < threshold)
            return;
        const Eigen::Index rows =
            m_rows.reaching(tile.row, std::min(largestEntriesBlockRows, m_rows.size() - tile.row),
                            m_slack * m_cols.bound(tile.col), threshold);
        const Eigen::Index cols =
            m_cols.reaching(tile.col, std::min(largestEntriesBlockCols, m_cols.size() - tile.col),
                            m_slack * m_rows.bound(tile.row), threshold);
        products.resize(cols, rows); // the entries of a row are contiguous
        products.noalias() =
            m_cols.rounded.middleCols(tile.col, cols).transpose() * m_rows.rounded.middleCols(tile.row, rows);
        const double margin = rounding(m_rows.longest(tile.row, rows) * m_cols.longest(tile.col, cols));
        std::vector<Candidate> candidates;
        const float floor =
            std::nextafter(static_cast<float>(threshold * m_rows.scale * m_cols.scale - margin),
                           -std::numeric_limits<float>::infinity());
        for (Eigen::Index row = 0; row < rows; ++row)
            look(products.col(row).data(), cols, {floor, tile.row + row, tile.col}, candidates);
        thinOut(candidates, margin);
        rank(candidates, threshold);
    }

    /// Bounds the error of a product of scaled tokens: rounded factors and r rounded sums.
    double rounding(double lengths) const
    {
        const double terms = static_cast<double>(m_rows.rounded.rows()) + 4;
        return terms * (std::numeric_limits<float>::epsilon() * lengths + std::numeric_limits<float>::min());
    }

    /// \param start the floor and the position of the first of `values`
    static void look(const float* values, Eigen::Index count, const Candidate& start,
                     std::vector<Candidate>& found)
    {
        const auto pick = [&](Eigen::Index first, Eigen::Index end) {
            for (Eigen::Index i = first; i < end; ++i) {
                if (values[i] >= start.key)
                    found.push_back({values[i], start.row, start.col + i});
            }
        };
        Eigen::Index at = 0;
        for (; at + largestEntriesChunk <= count; at += largestEntriesChunk) {
            if (Eigen::Map<const Eigen::Array<float, largestEntriesChunk, 1>>(values + at).maxCoeff()
                >= start.key)
                pick(at, at + largestEntriesChunk);
        }
        pick(at, count);
    }

    /// Before there is a threshold a whole tile becomes candidates. Keeps `count` of them and those within rounding
    /// error.
    void thinOut(std::vector<Candidate>& candidates, double margin) const
    {
        if (candidates.size() <= m_count)
            return;
        const auto last = candidates.begin() + static_cast<std::ptrdiff_t>(m_count) - 1;
        std::nth_element(candidates.begin(), last, candidates.end(),
                         [](const Candidate& a, const Candidate& b) { return a.key > b.key; });
        const double floor = double(last->key) - 2 * margin;
        std::erase_if(candidates, [floor](const Candidate& c) { return double(c.key) < floor; });
    }

    void rank(const std::vector<Candidate>& candidates, double threshold)
    {
        std::vector<MatrixEntry> entries;
        for (const Candidate& candidate : candidates) {
            const double value = m_rows.exact.col(candidate.row).dot(m_cols.exact.col(candidate.col));
            if (value >= threshold)
                entries.push_back({m_rows.id(candidate.row), m_cols.id(candidate.col), value});
        }
        if (!entries.empty())
            m_best.offer(entries);
    }

    const Side& m_rows;
    const Side& m_cols;
    std::size_t m_count;
    double m_slack;
    Best m_best;
    std::vector<Tile> m_tiles;
};

/// Returns the first entries of a matrix of zeros.
std::vector<MatrixEntry> firstEntries(const std::vector<int>& rows, const std::vector<int>& cols,
                                      std::size_t count)
{
    std::vector<MatrixEntry> entries;
    for (std::size_t i = 0; i < count; ++i)
        entries.push_back({rows[i / cols.size()], cols[i % cols.size()], 0});
    return entries;
}

} // namespace

Result<std::vector<MatrixEntry>> largestEntries(const FactoredMatrix<double>& matrix,
                                                const EntrySearch& search, const Task& task)
{
    if (!matrix.left().allFinite() || !matrix.right().allFinite()) {
        return Error{
            ErrorCode::Corrupt,
            "A factor of this circuit holds NaN or infinity, so its entries have no order; check the checkpoint for NaN, infinite or very large numbers."};
    }
    const std::vector<int> rows = usedIds(search.unusedRows, matrix.rows());
    const std::vector<int> cols = usedIds(search.unusedCols, matrix.cols());
    const std::size_t count = std::min(search.count, rows.size() * cols.size());
    if (count == 0)
        return std::vector<MatrixEntry>();
    const Matrix<double> A = matrix.left().transpose() * matrix.left();
    const Matrix<double> B = matrix.right() * matrix.right().transpose();
    if (A.trace() == 0 || B.trace() == 0)
        return firstEntries(rows, cols, count);
    const auto basis = balance(A, B);
    if (!basis)
        return basis.error();
    std::array<Side, 2> sides;
    const auto sorted =
        parallelFor(2, Task{task.stop, nullptr, task.threads}, "sorting", [&](int side) -> Result<Done> {
            if (side == 0)
                sides[0] = sortedSide(matrix.left(), rows, basis->forth);
            else
                sides[1] = sortedSide(matrix.right().transpose(), cols, basis->back.transpose());
            return Done{};
        });
    if (!sorted)
        return sorted.error();
    return LargestEntriesSearch(sides[0], sides[1], count, basis->slack).run(task);
}

std::vector<double> largestGaussianEntries(const FactoredMatrix<double>& matrix, const EntrySearch& search)
{
    const std::vector<int> rows = usedIds(search.unusedRows, matrix.rows());
    const std::vector<int> cols = usedIds(search.unusedCols, matrix.cols());
    std::vector<double> places(std::min(search.count, rows.size() * cols.size()));
    if (places.empty())
        return places;
    const Matrix<double> left = matrix.left()(rows, Eigen::all);
    const Matrix<double> right = matrix.right()(Eigen::all, cols);
    const double n = static_cast<double>(rows.size()) * static_cast<double>(cols.size());
    const RowVector<double> rowSum = left.colwise().sum();
    const Eigen::VectorXd colSum = right.rowwise().sum();
    const double mean = rowSum.dot(colSum.transpose()) / n;
    const Matrix<double> A = left.transpose() * left;
    const Matrix<double> B = right * right.transpose();
    const double deviation = std::sqrt(std::max(0.0, A.cwiseProduct(B).sum() / n - mean * mean));
    for (std::size_t rank = 0; rank < places.size(); ++rank)
        places[rank] = mean + deviation * expectedPlace(static_cast<double>(rank), n);
    return places;
}

} // namespace headwise
