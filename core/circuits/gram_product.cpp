#include "core/circuits/gram_product.h"

#include "core/base/parallel.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace headwise {

namespace {

constexpr Eigen::Index gramTile = 128;
constexpr Eigen::Index wideGramTile = 256;  // of a large result: BLAS copies a block of tokens half as often
constexpr Eigen::Index wideGramSize = 2048; // from here on there are enough wide tiles for many threads
constexpr Eigen::Index gramTokens = 2048;   // of a block
constexpr Eigen::Index gramReading = 256;   // rows that one thread reads at once

int tilesOf(Eigen::Index size, Eigen::Index tile)
{
    return static_cast<int>((size + tile - 1) / tile);
}

/// A sum of products of blocks, tile by tile of the result.
class GramTiles {
public:
    GramTiles(Eigen::Index size, Turned turned, bool isSymmetric)
        : m_turned(turned)
        , m_isSymmetric(isSymmetric)
        , m_tile(size < wideGramSize ? gramTile : wideGramTile)
        , m_sum(Matrix<double>::Zero(size, size))
    {
        for (Eigen::Index row = 0; row < size; row += m_tile) {
            for (Eigen::Index col = isSymmetric ? row : 0; col < size; col += m_tile)
                m_tiles.emplace_back(row, col);
        }
    }

    Result<Done> add(const Matrix<double>& left, const Matrix<double>& right, const Task& task)
    {
        return parallelFor(static_cast<int>(m_tiles.size()), task, "tiles", [&](int index) -> Result<Done> {
            const auto [row, col] = m_tiles[static_cast<std::size_t>(index)];
            const Eigen::Index rows = std::min(m_tile, m_sum.rows() - row);
            const Eigen::Index cols = std::min(m_tile, m_sum.cols() - col);
            auto tile = m_sum.block(row, col, rows, cols);
            if (m_isSymmetric && row == col) { // the upper half is enough
                if (m_turned == Turned::Left)
                    tile.selfadjointView<Eigen::Upper>().rankUpdate(left.middleCols(row, rows).transpose());
                else
                    tile.selfadjointView<Eigen::Upper>().rankUpdate(left.middleRows(row, rows));
            } else if (m_turned == Turned::Left)
                tile.noalias() += left.middleCols(row, rows).transpose() * right.middleCols(col, cols);
            else if (m_turned == Turned::Right)
                tile.noalias() += left.middleRows(row, rows) * right.middleRows(col, cols).transpose();
            else
                tile.noalias() += left.middleRows(row, rows) * right.middleCols(col, cols);
            return Done{};
        });
    }
    Matrix<double> sum() &&
    {
        if (m_isSymmetric)
            m_sum.triangularView<Eigen::StrictlyLower>() = m_sum.transpose();
        return std::move(m_sum);
    }

private:
    Turned m_turned;
    bool m_isSymmetric;
    Eigen::Index m_tile;
    std::vector<std::pair<Eigen::Index, Eigen::Index>> m_tiles;
    Matrix<double> m_sum;
};

using BlockPart = Eigen::Ref<Matrix<double>, 0, Eigen::OuterStride<>>;

/// Fills all of `block`, [count, d] or [d, count], with tokens from `first` on. \param put gets a part of the block, its first token and
/// their number
template <typename Put>
Result<Done> fillBlock(Matrix<double>& block, bool hasTokensFirst, const Put& put, Eigen::Index first,
                       const Task& task)
{
    const Eigen::Index tokens = hasTokensFirst ? block.rows() : block.cols();
    return parallelFor(tilesOf(tokens, gramReading), task, "tokens", [&](int part) -> Result<Done> {
        const Eigen::Index at = part * gramReading, size = std::min(gramReading, tokens - at);
        if (hasTokensFirst)
            put(BlockPart(block.middleRows(at, size)), first + at, size);
        else
            put(BlockPart(block.middleCols(at, size)), first + at, size);
        return Done{};
    });
}

/// Calls `body` with each block of tokens of this process and reports it.
Result<Done> forBlocks(Eigen::Index tokens, const Task& task, std::string_view step,
                       const std::function<Result<Done>(Eigen::Index, Eigen::Index, const Task&)>& body)
{
    const Task inner{task.stop, {}, task.threads};
    const auto [begin, end] = task.ownBlocks(tilesOf(tokens, gramTokens));
    for (int block = begin; block < end; ++block) {
        const Eigen::Index first = block * gramTokens;
        if (const auto done = body(first, std::min(gramTokens, tokens - first), inner); !done)
            return done;
        task.report(block + 1 - begin, end - begin, step);
    }
    return Done{};
}

/// Returns the sum of the blocks of all processes.
Result<Matrix<double>> sumOf(GramTiles tiles, const Task& task)
{
    Matrix<double> sum = std::move(tiles).sum();
    if (const auto done = task.sumOverPeers({sum.data(), static_cast<std::size_t>(sum.size())}); !done)
        return done.error();
    return sum;
}

} // namespace

Result<Matrix<double>> gramProduct(const TokenMatrix& left, const TokenMatrix& right, const Task& task,
                                   std::string_view step)
{
    using Vectors = TokenMatrix::Vectors;
    const bool isSymmetric = &left == &right;
    const bool areRows = left.vectors() == Vectors::Rows;
    const auto one = left.block<float>(0, std::min<Eigen::Index>(1, left.count()));
    const Eigen::Index d = areRows ? one->cols() : one->rows();
    GramTiles tiles(d,
                    areRows                                   ? Turned::Left
                        : right.vectors() == Vectors::Columns ? Turned::Right
                                                              : Turned::None,
                    isSymmetric);
    const auto fill = [&](Matrix<double>& block, const TokenMatrix& from, Eigen::Index first,
                          Eigen::Index count, const Task& inner) {
        const bool hasTokensFirst = from.vectors() == Vectors::Rows;
        hasTokensFirst ? block.resize(count, d) : block.resize(d, count);
        const auto put = [&from](BlockPart part, Eigen::Index at, Eigen::Index size) {
            if (from.isExact())
                part = *from.block<double>(at, size);
            else
                part = from.block<float>(at, size)->cast<double>();
        };
        return fillBlock(block, hasTokensFirst, put, first, inner);
    };
    Matrix<double> a, b;
    const auto done =
        forBlocks(left.count(), task, step,
                  [&](Eigen::Index first, Eigen::Index count, const Task& inner) -> Result<Done> {
                      if (auto state = fill(a, left, first, count, inner); !state)
                          return state;
                      if (isSymmetric)
                          return tiles.add(a, a, inner);
                      if (auto state = fill(b, right, first, count, inner); !state)
                          return state;
                      return tiles.add(a, b, inner);
                  });
    if (!done)
        return done.error();
    return sumOf(std::move(tiles), task);
}

Result<Matrix<double>> squareProduct(const Matrix<double>& left, const Matrix<double>& right, Turned turned,
                                     const Task& task)
{
    GramTiles tiles(left.rows(), turned, false);
    if (const auto done = tiles.add(left, right, task); !done)
        return done.error();
    return std::move(tiles).sum();
}

Result<RowSums> rowSums(Eigen::Index rows, Eigen::Index d,
                        const std::function<Matrix<double>(Eigen::Index, Eigen::Index)>& read,
                        const Task& task, std::string_view step)
{
    GramTiles tiles(d, Turned::Left, true);
    RowVector<double> column = RowVector<double>::Zero(d);
    Matrix<double> block;
    const auto done = forBlocks(
        rows, task, step, [&](Eigen::Index first, Eigen::Index count, const Task& inner) -> Result<Done> {
            block.resize(count, d);
            const auto put = [&read](BlockPart part, Eigen::Index at, Eigen::Index size) {
                part = read(at, size);
            };
            const auto filled = fillBlock(block, true, put, first, inner);
            if (!filled)
                return filled;
            column += block.colwise().sum();
            return tiles.add(block, block, inner);
        });
    if (!done)
        return done.error();
    auto gram = sumOf(std::move(tiles), task);
    if (!gram)
        return gram.error();
    if (const auto summed = task.sumOverPeers({column.data(), static_cast<std::size_t>(d)}); !summed)
        return summed.error();
    return RowSums{std::move(gram).value(), std::move(column)};
}

} // namespace headwise
