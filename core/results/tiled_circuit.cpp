#include "core/results/tiled_circuit.h"

#include "core/base/parallel.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

namespace headwise {

namespace {

using Eigen::Index;

constexpr Index cellBlock = 512;     // cells each way that are formed at once: 1 MiB, inside the cache
constexpr Index sampledCells = 2048; // each way, of the sample that statistics are taken from
constexpr Index mostSampled = 128;   // entries each way
constexpr Index longest = 512;       // rows and columns whose crossings are looked at for the extremes

Index reduced(Index count, int level)
{
    return ((count - 1) >> level) + 1;
}

/// Means of pairs of rows, of which each stands for `under` rows of the factor but the last, that may for fewer.
Matrix<float> pairedRows(const Matrix<float>& below, Index under, Index total)
{
    Matrix<float> above((below.rows() + 1) / 2, below.cols());
    for (Index i = 0; i < above.rows(); ++i) {
        const Index first = 2 * i;
        if (first + 1 == below.rows()) {
            above.row(i) = below.row(first);
            continue;
        }
        const Index second = std::min(under, total - (first + 1) * under);
        const float share = static_cast<float>(second) / static_cast<float>(under + second);
        above.row(i) = (1 - share) * below.row(first) + share * below.row(first + 1);
    }
    return above;
}

/// Largest and smallest cell under each entry.
struct Extremes {
    Matrix<float> high;
    Matrix<float> low;

    Extremes(Index rows, Index cols)
        : high(Matrix<float>::Constant(rows, cols, -std::numeric_limits<float>::infinity()))
        , low(Matrix<float>::Constant(rows, cols, std::numeric_limits<float>::infinity()))
    {
    }

    /// \param cells a block whose first cell is (row, col) of the area, in cells; its edges fall between entries or all of it
    ///              lies in one
    void take(const Matrix<float>& cells, Index row, Index col, int level)
    {
        const Index side = Index{1} << level;
        Eigen::ArrayXf top(cells.rows());
        Eigen::ArrayXf bottom(cells.rows());
        for (Index first = 0; first < cells.cols(); first += side) {
            const Index end = std::min(first + side, cells.cols());
            top = bottom = cells.col(first).array();
            for (Index j = first + 1; j < end; ++j) {
                top = top.max(cells.col(j).array());
                bottom = bottom.min(cells.col(j).array());
            }
            for (Index start = 0; start < cells.rows(); start += side) {
                const Index count = std::min(side, cells.rows() - start);
                float& high_ = high((row + start) >> level, (col + first) >> level);
                float& low_ = low((row + start) >> level, (col + first) >> level);
                high_ = std::max(high_, top.segment(start, count).maxCoeff());
                low_ = std::min(low_, bottom.segment(start, count).minCoeff());
            }
        }
    }

    Matrix<float> strongest() const { return (low.array().abs() > high.array().abs()).select(low, high); }
};

/// The strongest of each block of cells of `left` · `right` that an entry of `area` stands for.
Result<Matrix<float>> strongestOf(const Matrix<float>& left, const Matrix<float>& right, const TileArea& area,
                                  const Task& task)
{
    const Index firstRow = area.row << area.level;
    const Index firstCol = area.col << area.level;
    const Index endRow = std::min(left.rows(), (area.row + area.rows) << area.level);
    const Index endCol = std::min(right.cols(), (area.col + area.cols) << area.level);
    Extremes extremes(area.rows, area.cols);
    Matrix<float> cells;
    for (Index col = firstCol; col < endCol; col += cellBlock) {
        for (Index row = firstRow; row < endRow; row += cellBlock) {
            if (task.cancelled())
                return stopped();
            cells.noalias() = left.middleRows(row, std::min(cellBlock, endRow - row))
                * right.middleCols(col, std::min(cellBlock, endCol - col));
            extremes.take(cells, row - firstRow, col - firstCol, area.level);
        }
    }
    return extremes.strongest();
}

/// In every block of `side` numbers the places of its `count` largest, blocks [first, first + blocks) one after the other;
/// a block with fewer repeats its largest.
std::vector<int> largestInBlocks(const Eigen::VectorXf& numbers, Index first, Index blocks, int level,
                                 int count)
{
    const Index side = Index{1} << level;
    std::vector<int> places;
    std::vector<int> block;
    for (Index b = first; b < first + blocks; ++b) {
        block.resize(static_cast<std::size_t>(std::min(side, numbers.size() - b * side)));
        std::iota(block.begin(), block.end(), static_cast<int>(b * side));
        const auto wanted = std::min(block.size(), static_cast<std::size_t>(count));
        std::partial_sort(block.begin(), block.begin() + static_cast<std::ptrdiff_t>(wanted), block.end(),
                          [&](int i, int j) { return numbers(i) > numbers(j); });
        for (std::size_t k = 0; k < static_cast<std::size_t>(count); ++k)
            places.push_back(block[k < wanted ? k : 0]);
    }
    return places;
}

// Not at equal steps, which could fall in with a pattern of the vocabulary: at the multiples of the golden ratio.
std::vector<Index> spreadOver(Index count, Index wanted)
{
    std::vector<Index> places;
    for (Index i = 0; i < wanted; ++i) {
        const double part = std::fmod(0.5 + static_cast<double>(i) * 0.6180339887498949, 1.0);
        places.push_back(std::min(count - 1, static_cast<Index>(part * static_cast<double>(count))));
    }
    std::ranges::sort(places);
    places.erase(std::unique(places.begin(), places.end()), places.end());
    return places;
}

std::vector<Index> cellsUnder(const std::vector<Index>& entries, int level, Index count)
{
    std::vector<Index> cells;
    for (const Index entry : entries)
        for (Index cell = entry << level; cell < std::min(count, (entry + 1) << level); ++cell)
            cells.push_back(cell);
    return cells;
}

/// ‖row i of A B‖ for every row of A, from G = B Bᵀ.
Eigen::VectorXf normsOfRows(const Matrix<float>& A, const Matrix<double>& G)
{
    constexpr Index some = 4096; // rows at once
    Eigen::VectorXf norms(A.rows());
    for (Index first = 0; first < A.rows(); first += some) {
        const Index count = std::min(some, A.rows() - first);
        const Matrix<double> rows = A.middleRows(first, count).cast<double>();
        const Matrix<double> weighted = rows * G;
        norms.segment(first, count) =
            weighted.cwiseProduct(rows).rowwise().sum().cwiseMax(0).cwiseSqrt().cast<float>();
    }
    return norms;
}

} // namespace

TiledCircuit::TiledCircuit(FactoredMatrix<float> circuit)
    : m_circuit(std::move(circuit))
{
}

Index TiledCircuit::rowsAt(int level) const
{
    return reduced(rows(), level);
}

Index TiledCircuit::colsAt(int level) const
{
    return reduced(cols(), level);
}

void TiledCircuit::prepareLevels()
{
    m_left.push_back(m_circuit.left());
    m_right.push_back(m_circuit.right());
    for (int level = 0; rowsAt(level) > 1 || colsAt(level) > 1; ++level) {
        const Index under = Index{1} << level;
        m_left.push_back(pairedRows(m_left.back(), under, rows()));
        m_right.push_back(pairedRows(m_right.back().transpose(), under, cols()).transpose());
    }
    while (std::max(rowsAt(m_overviewLevel), colsAt(m_overviewLevel)) > overviewSize)
        ++m_overviewLevel;
    const Matrix<double> A = m_circuit.left().cast<double>();
    const Matrix<double> B = m_circuit.right().cast<double>();
    m_rowNorms = normsOfRows(m_circuit.left(), B * B.transpose());
    m_colNorms = normsOfRows(m_circuit.right().transpose(), A.transpose() * A);
}

Result<std::shared_ptr<const TiledCircuit>> TiledCircuit::create(FactoredMatrix<float> circuit,
                                                                 const Task& task)
{
    const double left = circuit.left().array().abs().maxCoeff<Eigen::PropagateNaN>();
    const double right = circuit.right().array().abs().maxCoeff<Eigen::PropagateNaN>();
    const double most = left * right * static_cast<double>(circuit.inner());
    if (!(most < std::numeric_limits<float>::max()))
        return Error{
            ErrorCode::Corrupt,
            "This circuit holds NaN or infinity, so it cannot be shown as a whole. Show the tokens of a text to find them."};
    if (task.cancelled())
        return stopped();
    std::shared_ptr<TiledCircuit> made(new TiledCircuit(std::move(circuit)));
    made->prepareLevels();
    const int levels = made->overviewLevel() + 1;
    for (auto& statistics : made->m_statistics)
        statistics.resize(static_cast<std::size_t>(levels));
    const auto done = parallelFor(2 * levels + 1, task, "levels", [&](int i) -> Result<Done> {
        if (i == 2 * levels) {
            made->m_overview = made->strongestEstimate(made->wholeLevel(made->overviewLevel()));
            return Done{};
        }
        auto found = made->sampled(static_cast<Aggregate>(i % 2), i / 2, task);
        if (!found)
            return found.error();
        made->m_statistics[static_cast<std::size_t>(i % 2)][static_cast<std::size_t>(i / 2)] =
            *std::move(found);
        return Done{};
    });
    if (!done)
        return done.error();
    return std::shared_ptr<const TiledCircuit>(std::move(made));
}

Matrix<float> TiledCircuit::means(const TileArea& area) const
{
    const auto level = static_cast<std::size_t>(area.level);
    return m_left[level].middleRows(area.row, area.rows) * m_right[level].middleCols(area.col, area.cols);
}

Result<Matrix<float>> TiledCircuit::entries(Aggregate aggregate, const TileArea& area, const Task& task) const
{
    if (aggregate == Aggregate::Mean || area.level == 0)
        return means(area);
    return strongestOf(m_circuit.left(), m_circuit.right(), area, task);
}

Matrix<float> TiledCircuit::strongestEstimate(const TileArea& area) const
{
    const int side = std::min(estimateSide, 1 << area.level);
    const auto rowIds = largestInBlocks(m_rowNorms, area.row, area.rows, area.level, side);
    const auto colIds = largestInBlocks(m_colNorms, area.col, area.cols, area.level, side);
    const Matrix<float> cells = m_circuit.at(rowIds, colIds);
    Extremes extremes(area.rows, area.cols);
    extremes.take(cells, 0, 0, std::min(area.level, 2));
    return extremes.strongest();
}

Result<Matrix<float>> TiledCircuit::sampleOf(Aggregate aggregate, int level, const Task& task) const
{
    const Index wanted =
        std::clamp<Index>(aggregate == Aggregate::Mean ? mostSampled : sampledCells >> level, 8, mostSampled);
    // Without the last ones, which may stand for fewer cells.
    const auto rowPlaces = spreadOver(std::max<Index>(1, rowsAt(level) - 1), wanted);
    const auto colPlaces = spreadOver(std::max<Index>(1, colsAt(level) - 1), wanted);
    const auto at = static_cast<std::size_t>(level);
    if (aggregate == Aggregate::Mean)
        return Matrix<float>(m_left[at](rowPlaces, Eigen::all) * m_right[at](Eigen::all, colPlaces));
    return strongestOf(m_circuit.left()(cellsUnder(rowPlaces, level, rows()), Eigen::all),
                       m_circuit.right()(Eigen::all, cellsUnder(colPlaces, level, cols())),
                       {level, 0, 0, std::ssize(rowPlaces), std::ssize(colPlaces)}, task);
}

Result<ValueStatistics> TiledCircuit::sampled(Aggregate aggregate, int level, const Task& task) const
{
    const auto sample = sampleOf(aggregate, level, task);
    if (!sample)
        return sample.error();
    ValueStatistics found = statisticsOf(*sample);
    const double scale =
        static_cast<double>(rowsAt(level)) * static_cast<double>(colsAt(level)) / found.count;
    found.count *= scale;
    found.sum *= scale;
    found.squares *= scale;
    if (level == 0) {
        found.squares = m_rowNorms.cast<double>().squaredNorm();
        found.sum = m_circuit.left().cast<double>().colwise().sum().dot(
            m_circuit.right().cast<double>().rowwise().sum().transpose());
    }
    if (level == 0 || aggregate == Aggregate::Strongest) {
        const int all = static_cast<int>(std::bit_width(static_cast<std::size_t>(std::max(rows(), cols()))));
        const int count = static_cast<int>(std::min({longest, rows(), cols()}));
        const ValueStatistics crossings = statisticsOf(m_circuit.at(
            largestInBlocks(m_rowNorms, 0, 1, all, count), largestInBlocks(m_colNorms, 0, 1, all, count)));
        found.low = std::min(found.low, crossings.low);
        found.high = std::max(found.high, crossings.high);
    }
    return found;
}

const ValueStatistics& TiledCircuit::statistics(Aggregate aggregate, int level) const
{
    return m_statistics[static_cast<std::size_t>(aggregate)][static_cast<std::size_t>(level)];
}

} // namespace headwise
