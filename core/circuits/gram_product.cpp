#include "core/circuits/gram_product.h"

#include "core/base/parallel.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace headwise {

namespace {

constexpr Eigen::Index gramTile = 128;

} // namespace

template <typename Scalar>
Result<Matrix<double>> gramProduct(const Matrix<Scalar>& left, const Matrix<Scalar>& right, Turned turned,
                                   const Task& task, std::string_view step)
{
    constexpr Eigen::Index tokens = 4096;
    const bool isLeftTurned = turned == Turned::Left, isRightTurned = turned == Turned::Right;
    const bool isSymmetric = &left == &right;
    const Eigen::Index size = isLeftTurned ? left.cols() : left.rows();
    const Eigen::Index vocabulary = isLeftTurned ? left.rows() : left.cols();
    std::vector<std::pair<Eigen::Index, Eigen::Index>> tiles;
    for (Eigen::Index row = 0; row < size; row += gramTile) {
        for (Eigen::Index col = isSymmetric ? row : 0; col < size; col += gramTile)
            tiles.emplace_back(row, col);
    }
    const auto part = [](const Matrix<Scalar>& m, bool hasTokensFirst, Eigen::Index token, Eigen::Index count,
                         Eigen::Index direction, Eigen::Index width) {
        return Matrix<double>(hasTokensFirst
                                  ? m.block(token, direction, count, width).template cast<double>()
                                  : m.block(direction, token, width, count).template cast<double>());
    };
    Matrix<double> out(size, size);
    const auto done = parallelFor(static_cast<int>(tiles.size()), task, step, [&](int index) -> Result<Done> {
        const auto [row, col] = tiles[static_cast<std::size_t>(index)];
        const Eigen::Index rows = std::min(gramTile, size - row);
        const Eigen::Index cols = std::min(gramTile, size - col);
        Matrix<double> tile = Matrix<double>::Zero(rows, cols);
        for (Eigen::Index first = 0; first < vocabulary; first += tokens) {
            if (task.cancelled())
                return stopped();
            const Eigen::Index count = std::min(tokens, vocabulary - first);
            const Matrix<double> a = part(left, isLeftTurned, first, count, row, rows);
            const Matrix<double> b = part(right, !isRightTurned, first, count, col, cols);
            if (isLeftTurned)
                tile.noalias() += a.transpose() * b;
            else if (isRightTurned)
                tile.noalias() += a * b.transpose();
            else
                tile.noalias() += a * b;
        }
        out.block(row, col, rows, cols) = tile;
        if (isSymmetric)
            out.block(col, row, cols, rows) = tile.transpose();
        return Done{};
    });
    if (!done)
        return done.error();
    return out;
}

template Result<Matrix<double>> gramProduct(const Matrix<float>&, const Matrix<float>&, Turned, const Task&,
                                            std::string_view);
template Result<Matrix<double>> gramProduct(const Matrix<double>&, const Matrix<double>&, Turned, const Task&,
                                            std::string_view);

} // namespace headwise
