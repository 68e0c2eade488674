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

constexpr Eigen::Index normTile = 96;    // columns of a tile
constexpr Eigen::Index rightAtOnce = 96; // right matrices of one product: BLAS copies the left ones for each
constexpr int normLanes = 32;            // sums that are added at the end, the most threads at work
constexpr double leastShare = 1e-3; // of ‖LᵀL‖ ‖RᵀR‖; below it ⟨LᵀL, RᵀR⟩ has lost three digits

/// A tile of the upper half of the Gram matrices.
struct GramTile {
    Eigen::Index row = 0, rows = 0, col = 0, cols = 0;

    Eigen::Index size() const { return rows * cols; }
    double weight() const { return row == col ? 1 : 2; } // the lower half is its mirror image
};

std::vector<GramTile> upperTiles(Eigen::Index d)
{
    std::vector<GramTile> tiles;
    for (Eigen::Index row = 0; row < d; row += normTile) {
        for (Eigen::Index col = row; col < d; col += normTile)
            tiles.push_back({row, std::min(normTile, d - row), col, std::min(normTile, d - col)});
    }
    return tiles;
}

/// Writes one tile of each Gram matrix into a column of `out`.
void writeTiles(const std::vector<Matrix<float>>& sides, Eigen::Index count, const GramTile& tile,
                Matrix<float>& out)
{
    for (Eigen::Index i = 0; i < count; ++i) {
        const Matrix<float>& side = sides[static_cast<std::size_t>(i)];
        Eigen::Map<Matrix<float>> entries(out.col(i).data(), tile.rows, tile.cols);
        entries.noalias() =
            side.middleCols(tile.row, tile.rows).transpose() * side.middleCols(tile.col, tile.cols);
    }
}

/// Sums ⟨LᵀL, RᵀR⟩ of all pairs over some of the tiles.
class TileSums {
public:
    TileSums(const ThinPairs<float>& pairs, Eigen::Index most)
        : m_pairs(pairs)
        , m_leftCount(pairs.reach.back())
        , m_rightCount(static_cast<Eigen::Index>(pairs.right.size()))
        , m_left(most, m_leftCount)
        , m_right(most, m_rightCount)
        , m_sums(Matrix<double>::Zero(m_leftCount, m_rightCount))
    {
    }

    void add(const GramTile& tile)
    {
        writeTiles(m_pairs.left, m_leftCount, tile, m_left);
        writeTiles(m_pairs.right, m_rightCount, tile, m_right);
        for (Eigen::Index first = 0; first < m_rightCount;) {
            const auto reachOf = [&](Eigen::Index j) { return m_pairs.reach[static_cast<std::size_t>(j)]; };
            Eigen::Index end = first + 1;
            while (end < m_rightCount && (end - first < rightAtOnce || reachOf(end) == reachOf(end - 1)))
                ++end;
            const int reach = reachOf(end - 1);
            m_part.noalias() = m_left.topLeftCorner(tile.size(), reach).transpose()
                * m_right.block(0, first, tile.size(), end - first);
            m_sums.block(0, first, reach, end - first) += tile.weight() * m_part.cast<double>();
            first = end;
        }
    }
    const Matrix<double>& sums() const { return m_sums; }

private:
    const ThinPairs<float>& m_pairs;
    Eigen::Index m_leftCount, m_rightCount;
    Matrix<float> m_left, m_right; // [entries of a tile, matrices]
    Matrix<float> m_part;
    Matrix<double> m_sums;
};

Result<Matrix<double>> gramSums(const ThinPairs<float>& pairs, const Task& task)
{
    const std::vector<GramTile> tiles = upperTiles(pairs.right.front().cols());
    const int lanes = std::min(normLanes, static_cast<int>(tiles.size()));
    std::vector<Matrix<double>> parts(static_cast<std::size_t>(lanes));
    const auto done = parallelFor(lanes, task, "tiles of pairs", [&](int lane) -> Result<Done> {
        TileSums sums(pairs, tiles.front().size());
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

/// ‖AᵀA‖_F of each matrix.
Result<std::vector<double>> gramNorms(const std::vector<Matrix<float>>& sides, const Task& task)
{
    std::vector<double> norms(sides.size());
    const auto done = parallelFor(static_cast<int>(sides.size()), withoutProgress(task), "norms", [&](int i) {
        const Matrix<float>& side = sides[static_cast<std::size_t>(i)];
        const Matrix<float> gram = side * side.transpose(); // its norm is that of the other order
        norms[static_cast<std::size_t>(i)] = static_cast<double>(gram.norm());
        return Result<Done>(Done{});
    });
    if (!done)
        return done.error();
    return norms;
}

/// Squares of norms by Gram matrices; empty if they were not asked for.
struct GramSquares {
    Matrix<double> sums;             // [left, right] ⟨LᵀL, RᵀR⟩
    std::vector<double> left, right; // ‖LᵀL‖, ‖RᵀR‖

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

double gramOperations(double pairs, double matrices, double r, double d)
{
    return (pairs + matrices * r) * d * d;
}

double gramBytes(double left, double right, double d)
{
    const double along = std::ceil(d / normTile);
    const double lanes = std::min<double>(normLanes, along * (along + 1) / 2);
    const double threads = std::min<double>(lanes, std::max(1U, std::thread::hardware_concurrency()));
    return lanes * left * right * 8
        + threads * (4.0 * normTile * normTile * (left + right) + 12 * left * right);
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
                const Matrix<Scalar> product =
                    pairs.left[static_cast<std::size_t>(i)] * pairs.right[at].transpose();
                return product.template cast<double>().squaredNorm();
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
