#include "core/analysis/composition/product_norms.h"

#include "core/analysis/selected_heads.h"

#include "core/base/parallel.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>

namespace headwise {

namespace {

constexpr Eigen::Index rightAtOnce = 96; // right matrices of one product: BLAS copies the left ones for each
constexpr Eigen::Index mostAtOnce = 2 * rightAtOnce;
constexpr int normLanes = 32; // sums that are added at the end, the most threads at work
constexpr double leastShare = 1e-3; // of ‖L Lᵀ‖ ‖R Rᵀ‖; below it ⟨L Lᵀ, R Rᵀ⟩ has lost three digits

/// A tile of the upper half of the Gram matrices: the product of two strips.
struct GramTile {
    Eigen::Index row = 0, col = 0;

    double weight() const { return row == col ? 1 : 2; } // the lower half is its mirror image
};

std::vector<GramTile> upperTiles(Eigen::Index strips)
{
    std::vector<GramTile> tiles;
    for (Eigen::Index row = 0; row < strips; ++row) {
        for (Eigen::Index col = row; col < strips; ++col)
            tiles.push_back({row, col});
    }
    return tiles;
}

/// Right matrices that meet the first `reach` left ones in one product.
struct RightBlock {
    Eigen::Index first = 0, count = 0;
    int reach = 0;
};

/// Blocks of some matrices, to the end of a reach where it is near, so that few products go beyond one.
std::vector<RightBlock> rightBlocks(const std::vector<int>& reach)
{
    std::vector<RightBlock> blocks;
    const auto count = static_cast<Eigen::Index>(reach.size());
    const auto reachOf = [&](Eigen::Index j) { return reach[static_cast<std::size_t>(j)]; };
    for (Eigen::Index first = 0; first < count;) {
        Eigen::Index end = first + 1;
        while (end < count && end - first < mostAtOnce
               && (end - first < rightAtOnce || reachOf(end) == reachOf(end - 1)))
            ++end;
        blocks.push_back({first, end - first, reachOf(end - 1)});
        first = end;
    }
    return blocks;
}

/// Sums ⟨L Lᵀ, R Rᵀ⟩ of all pairs over some of the tiles.
class TileSums {
public:
    TileSums(const ThinPairs<float>& pairs, const std::vector<RightBlock>& blocks)
        : m_pairs(pairs)
        , m_blocks(blocks)
        , m_height(pairs.right.front().height())
        , m_left(m_height * m_height, pairs.reach.back())
        , m_right(m_height * m_height, std::ranges::max(blocks, {}, &RightBlock::count).count)
        , m_sums(Matrix<double>::Zero(pairs.reach.back(), static_cast<Eigen::Index>(pairs.right.size())))
    {
    }

    void add(const GramTile& tile)
    {
        writeTiles(m_pairs.left, {0, m_left.cols(), 0}, tile, m_left);
        for (const RightBlock& block : m_blocks) {
            writeTiles(m_pairs.right, block, tile, m_right);
            m_part.noalias() = m_left.leftCols(block.reach).transpose() * m_right.leftCols(block.count);
            m_sums.block(0, block.first, block.reach, block.count) += tile.weight() * m_part.cast<double>();
        }
    }
    const Matrix<double>& sums() const { return m_sums; }

private:
    /// Writes one tile of the Gram matrix of each side of a block into a column of `out`.
    void writeTiles(const std::vector<Strips<float>>& sides, const RightBlock& block, const GramTile& tile,
                    Matrix<float>& out) const
    {
        for (Eigen::Index i = 0; i < block.count; ++i) {
            const Strips<float>& side = sides[static_cast<std::size_t>(block.first + i)];
            Eigen::Map<Matrix<float>> entries(out.col(i).data(), m_height, m_height);
            entries.noalias() = side[tile.row] * side[tile.col].transpose();
        }
    }

    const ThinPairs<float>& m_pairs;
    const std::vector<RightBlock>& m_blocks;
    Eigen::Index m_height;
    Matrix<float> m_left, m_right; // [entries of a tile, matrices]
    Matrix<float> m_part;
    Matrix<double> m_sums;
};

Result<Matrix<double>> gramSums(const ThinPairs<float>& pairs, const Task& task)
{
    const std::vector<GramTile> tiles = upperTiles(pairs.right.front().count());
    const std::vector<RightBlock> blocks = rightBlocks(pairs.reach);
    const int lanes = std::min(normLanes, static_cast<int>(tiles.size()));
    std::vector<Matrix<double>> parts(static_cast<std::size_t>(lanes));
    const auto done = parallelFor(lanes, task, "tiles of pairs", [&](int lane) -> Result<Done> {
        TileSums sums(pairs, blocks);
        for (auto i = static_cast<std::size_t>(lane); i < tiles.size();
             i += static_cast<std::size_t>(lanes)) {
            if (task.cancelled())
                return stopped();
            sums.add(tiles[i]);
        }
        parts[static_cast<std::size_t>(lane)] = sums.sums();
        return Done{};
    });
    if (!done)
        return done.error();
    for (std::size_t lane = 1; lane < parts.size(); ++lane)
        parts.front() += parts[lane];
    return std::move(parts.front());
}

/// Lᵀ R
template <typename Scalar>
Matrix<Scalar> product(const Strips<Scalar>& left, const Strips<Scalar>& right)
{
    Matrix<Scalar> sum = left[0].transpose() * right[0];
    for (Eigen::Index strip = 1; strip < left.count(); ++strip)
        sum.noalias() += left[strip].transpose() * right[strip];
    return sum;
}

/// ‖A Aᵀ‖_F of each matrix.
Result<std::vector<double>> gramNorms(const std::vector<Strips<float>>& sides, const Task& task)
{
    std::vector<double> norms(sides.size());
    const auto done = parallelFor(static_cast<int>(sides.size()), withoutProgress(task), "norms", [&](int i) {
        const Strips<float>& side = sides[static_cast<std::size_t>(i)];
        norms[static_cast<std::size_t>(i)] =
            static_cast<double>(product(side, side).norm()); // AᵀA has the same norm
        return Result<Done>(Done{});
    });
    if (!done)
        return done.error();
    return norms;
}

/// Squares of norms by Gram matrices; empty if they were not asked for.
struct GramSquares {
    Matrix<double> sums;             // [left, right] ⟨L Lᵀ, R Rᵀ⟩
    std::vector<double> left, right; // ‖L Lᵀ‖, ‖R Rᵀ‖

    /// Returns none where the square has lost too many digits.
    std::optional<double> of(int i, int j) const
    {
        if (sums.size() == 0
            || sums(i, j)
                < leastShare * left[static_cast<std::size_t>(i)] * right[static_cast<std::size_t>(j)])
            return std::nullopt;
        return sums(i, j);
    }
};

Result<GramSquares> gramSquares(const ThinPairs<float>& pairs, const Task& task)
{
    auto sums = gramSums(pairs, task);
    if (!sums)
        return sums.error();
    auto left = gramNorms(pairs.left, task);
    if (!left)
        return left.error();
    auto right = gramNorms(pairs.right, task);
    if (!right)
        return right.error();
    return GramSquares{std::move(sums).value(), std::move(left).value(), std::move(right).value()};
}

} // namespace

template <typename Scalar>
Strips<Scalar>::Strips(const Matrix<Scalar>& side)
{
    const Eigen::Index d = side.rows(), r = side.cols();
    const Eigen::Index count = (d + most - 1) / most;
    m_height = (d + count - 1) / count;
    m_numbers.resize(m_height * r, count);
    for (Eigen::Index strip = 0; strip < count; ++strip) {
        Eigen::Map<Matrix<Scalar>> numbers(m_numbers.col(strip).data(), m_height, r);
        const Eigen::Index rows = std::min(m_height, d - strip * m_height);
        numbers.topRows(rows) = side.middleRows(strip * m_height, rows);
        numbers.bottomRows(m_height - rows).setZero();
    }
}

template class Strips<float>;
template class Strips<double>;

double gramOperations(double pairs, double matrices, double r, double d)
{
    return (pairs + matrices * r) * d * d;
}

double gramBytes(double left, double right, double d)
{
    constexpr double tile = Strips<float>::most;
    const double along = std::ceil(d / tile);
    const double lanes = std::min<double>(normLanes, along * (along + 1) / 2);
    const double threads = std::min<double>(lanes, std::max(1U, std::thread::hardware_concurrency()));
    return lanes * left * right * 8
        + threads * (4 * tile * tile * (left + std::min<double>(right, mostAtOnce)) + 12 * left * right);
}

template <typename Scalar>
Result<Matrix<double>> productNorms(const ThinPairs<Scalar>& pairs, NormRoute route, const Task& task)
{
    const auto rightCount = static_cast<int>(pairs.right.size());
    Matrix<double> out =
        Matrix<double>::Constant(static_cast<Eigen::Index>(pairs.left.size()), rightCount, notComputed);
    if (rightCount == 0 || pairs.reach.back() == 0)
        return out;
    GramSquares squares;
    if constexpr (std::is_same_v<Scalar, float>) {
        auto found = route == NormRoute::Grams ? gramSquares(pairs, task) : Result<GramSquares>(squares);
        if (!found)
            return found.error();
        squares = std::move(found).value();
    }
    const auto done = parallelFor(rightCount, task, "products of heads", [&](int j) -> Result<Done> {
        const auto at = static_cast<std::size_t>(j);
        for (int i = 0; i < pairs.reach[at]; ++i) {
            if (task.cancelled())
                return stopped();
            if (!pairs.isAsked(i, j))
                continue;
            const auto square = squares.of(i, j);
            const auto multiplied = [&] {
                return product(pairs.left[static_cast<std::size_t>(i)], pairs.right[at])
                    .template cast<double>()
                    .squaredNorm();
            };
            out(i, j) = std::sqrt(square ? *square : multiplied());
        }
        return Done{};
    });
    if (!done)
        return done.error();
    return out;
}

template Result<Matrix<double>> productNorms(const ThinPairs<float>&, NormRoute, const Task&);
template Result<Matrix<double>> productNorms(const ThinPairs<double>&, NormRoute, const Task&);

} // namespace headwise
