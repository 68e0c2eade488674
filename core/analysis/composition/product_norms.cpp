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
constexpr int normLanes = 32;             // sums that are added at the end, the most threads at work
constexpr Eigen::Index leftColumns = 512; // of left matrices side by side
constexpr std::size_t groupsAtOnce = 16;  // that these meet in one product
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
    TileSums(const ThinPairs& pairs, const std::vector<RightBlock>& blocks)
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

    const ThinPairs& m_pairs;
    const std::vector<RightBlock>& m_blocks;
    Eigen::Index m_height;
    Matrix<float> m_left, m_right; // [entries of a tile, matrices]
    Matrix<float> m_part;
    Matrix<double> m_sums;
};

Result<Matrix<double>> gramSums(const ThinPairs& pairs, const Task& task)
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
Matrix<float> product(const Strips<float>& left, const Strips<float>& right)
{
    Matrix<float> sum = left[0].transpose() * right[0];
    for (Eigen::Index strip = 1; strip < left.count(); ++strip)
        sum.noalias() += left[strip].transpose() * right[strip];
    return sum;
}

/// ‖A Aᵀ‖_F of each matrix.
Result<std::vector<double>> normsOfGrams(const std::vector<Strips<float>>& sides, const Task& task)
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

/// Squares of norms by Gram matrices.
struct GramSquares {
    Matrix<double> sums;             // [left, right] ⟨L Lᵀ, R Rᵀ⟩
    std::vector<double> left, right; // ‖L Lᵀ‖, ‖R Rᵀ‖

    /// Returns none where the square has lost too many digits.
    std::optional<double> of(int i, int j) const
    {
        if (sums(i, j) < leastShare * left[static_cast<std::size_t>(i)] * right[static_cast<std::size_t>(j)])
            return std::nullopt;
        return sums(i, j);
    }
};

Result<GramSquares> gramSquares(const ThinPairs& pairs, const Task& task)
{
    auto sums = gramSums(pairs, task);
    if (!sums)
        return sums.error();
    auto left = normsOfGrams(pairs.left, task);
    if (!left)
        return left.error();
    auto right = normsOfGrams(pairs.right, task);
    if (!right)
        return right.error();
    return GramSquares{std::move(sums).value(), std::move(left).value(), std::move(right).value()};
}

/// Multiplies some left matrices, side by side, with groups of sides.
template <typename Scalar>
class StackedProducts {
public:
    StackedProducts(const std::vector<Strips<Scalar>>& left, int first, int count,
                    const SharedSides<Scalar>& right, const MeetingChoice& isAsked)
        : m_right(right)
        , m_isAsked(isAsked)
        , m_first(first)
        , m_count(count)
        , m_r(right.width())
        , m_left(right.factors.rows(), count * m_r)
    {
        for (int i = 0; i < count; ++i)
            left[static_cast<std::size_t>(first) + static_cast<std::size_t>(i)].copyTo(
                m_left.middleCols(i * m_r, m_r));
    }

    /// Puts the norms of all requested pairs of these left matrices.
    Result<Done> put(Matrix<double>& norms, const Task& task)
    {
        std::vector<int> sides; // the first of each group to multiply
        const std::vector<typename SharedSides<Scalar>::Group>& groups = m_right.groups;
        int side = 0;
        for (std::size_t i = 0; i <= groups.size(); ++i) {
            const bool isWanted = i < groups.size() && meets(groups[i], side);
            const bool fits = isWanted && !sides.empty() && sides.size() < groupsAtOnce
                && groups[i].reach == groups[i - 1].reach;
            if (!sides.empty() && !fits) {
                if (task.cancelled())
                    return stopped();
                multiply(i - sides.size(), sides, norms);
                sides.clear();
            }
            if (isWanted)
                sides.push_back(side);
            side += i < groups.size() ? m_right.sides(groups[i]) : 0;
        }
        return Done{};
    }

private:
    using Group = typename SharedSides<Scalar>::Group;

    int reached(const Group& group) const { return std::clamp(group.reach - m_first, 0, m_count); }
    bool isRequested(int left, int side) const { return m_isAsked(m_first + left, side); }
    bool meets(const Group& group, int firstSide) const
    {
        for (int i = 0; i < reached(group); ++i) {
            for (int j = 0; j < m_right.sides(group); ++j) {
                if (isRequested(i, firstSide + j))
                    return true;
            }
        }
        return false;
    }

    void multiply(std::size_t firstGroup, const std::vector<int>& sides, Matrix<double>& norms)
    {
        const auto first = static_cast<Eigen::Index>(firstGroup);
        const Eigen::Index rows = reached(m_right.groups[firstGroup]) * m_r;
        m_products.noalias() = m_left.leftCols(rows).transpose()
            * m_right.factors.middleCols(first * m_r, static_cast<Eigen::Index>(sides.size()) * m_r);
        for (std::size_t i = 0; i < sides.size(); ++i) {
            const Group& group = m_right.groups[firstGroup + i];
            const auto own = m_products.middleCols(static_cast<Eigen::Index>(i) * m_r, m_r);
            if (group.roots.size() > 0)
                m_sides.noalias() = own * group.roots.transpose();
            else
                m_sides = own;
            putNorms(group, sides[i], norms);
        }
    }
    void putNorms(const Group& group, int firstSide, Matrix<double>& norms) const
    {
        for (int i = 0; i < reached(group); ++i) {
            for (int j = 0; j < m_right.sides(group); ++j) {
                const auto product = m_sides.block(i * m_r, j * m_r, m_r, m_r);
                const double square = product.colwise().squaredNorm().template cast<double>().sum();
                if (isRequested(i, firstSide + j))
                    norms(m_first + i, firstSide + j) = std::sqrt(square);
            }
        }
    }

    const SharedSides<Scalar>& m_right;
    const MeetingChoice& m_isAsked;
    int m_first, m_count;
    Eigen::Index m_r;
    Matrix<Scalar> m_left;     // [d, count · r]
    Matrix<Scalar> m_products; // [count · r, groups · r]
    Matrix<Scalar> m_sides;    // [count · r, sides of a group · r]
};

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

template <typename Scalar>
void Strips<Scalar>::copyTo(Eigen::Ref<Matrix<Scalar>> side) const
{
    for (Eigen::Index strip = 0; strip < count(); ++strip) {
        const Eigen::Index rows = std::min(m_height, side.rows() - strip * m_height);
        side.middleRows(strip * m_height, rows) = (*this)[strip].topRows(rows);
    }
}

template class Strips<float>;
template class Strips<double>;

double gramTileOperations(double matrices, double r, double d)
{
    return matrices * r * d * d;
}

double gramPairOperations(double pairs, double d)
{
    return pairs * d * d;
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
Result<Matrix<double>> normsByProducts(const std::vector<Strips<Scalar>>& left,
                                       const SharedSides<Scalar>& right, const MeetingChoice& isAsked,
                                       const Task& task)
{
    int sides = 0, reach = 0;
    for (const auto& group : right.groups) {
        sides += right.sides(group);
        reach = group.reach;
    }
    Matrix<double> out = Matrix<double>::Constant(static_cast<Eigen::Index>(left.size()), sides, notComputed);
    if (reach == 0)
        return out;
    const int atOnce = std::max(1, static_cast<int>(leftColumns / right.width()));
    const auto done = parallelFor((reach + atOnce - 1) / atOnce, task, "products of heads", [&](int part) {
        const int first = part * atOnce;
        return StackedProducts<Scalar>(left, first, std::min(atOnce, reach - first), right, isAsked)
            .put(out, task);
    });
    if (!done)
        return done.error();
    return out;
}

template Result<Matrix<double>> normsByProducts(const std::vector<Strips<float>>&, const SharedSides<float>&,
                                                const MeetingChoice&, const Task&);
template Result<Matrix<double>> normsByProducts(const std::vector<Strips<double>>&,
                                                const SharedSides<double>&, const MeetingChoice&,
                                                const Task&);

Result<Matrix<double>> normsByGrams(const ThinPairs& pairs, const Task& task)
{
    const auto rightCount = static_cast<int>(pairs.right.size());
    Matrix<double> out =
        Matrix<double>::Constant(static_cast<Eigen::Index>(pairs.left.size()), rightCount, notComputed);
    if (rightCount == 0 || pairs.reach.back() == 0)
        return out;
    const auto squares = gramSquares(pairs, task);
    if (!squares)
        return squares.error();
    const auto done = parallelFor(rightCount, task, "products of heads", [&](int j) -> Result<Done> {
        const auto at = static_cast<std::size_t>(j);
        for (int i = 0; i < pairs.reach[at]; ++i) {
            if (task.cancelled())
                return stopped();
            if (!pairs.isAsked(i, j))
                continue;
            const auto square = squares->of(i, j);
            const auto multiplied = [&] {
                return product(pairs.left[static_cast<std::size_t>(i)], pairs.right[at])
                    .cast<double>()
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

} // namespace headwise
