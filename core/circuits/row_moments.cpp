#include "core/circuits/row_moments.h"

#include "core/base/parallel.h"
#include "core/circuits/gaussian_order.h"

#include <algorithm>
#include <limits>

namespace headwise {

namespace {

constexpr Eigen::Index tileSide = 128;             // side of a tile of the covariance
constexpr Eigen::Index rowMomentsBlockCols = 2048; // columns of `right` at a time
constexpr Eigen::Index rowMomentsBlockRows = 1024; // rows of `left` at a time

int parts(Eigen::Index count, Eigen::Index each)
{
    return static_cast<int>((count + each - 1) / each);
}

/// Mean and covariance of the columns.
struct ColumnMoments {
    Eigen::VectorXd mean;      // [inner]
    Matrix<double> covariance; // [inner, inner]
};

template <typename Scalar>
Result<ColumnMoments> columnMoments(const Matrix<Scalar>& right, const std::vector<int>& columns,
                                    const Task& task)
{
    const Eigen::Index inner = right.rows();
    const double count = static_cast<double>(columns.size());
    ColumnMoments out{Eigen::VectorXd::Zero(inner), Matrix<double>::Zero(inner, inner)};
    for (const int column : columns)
        out.mean += right.col(column).template cast<double>();
    out.mean /= count;
    // Each body computes a strip of the upper triangle, summed over the columns in order.
    const auto done = parallelFor(parts(inner, tileSide), task, "covariance of tokens", [&](int strip) {
        const Eigen::Index first = strip * tileSide;
        const Eigen::Index size = std::min(tileSide, inner - first);
        Matrix<double> sum = Matrix<double>::Zero(size, inner - first);
        for (std::size_t begin = 0; begin < columns.size(); begin += rowMomentsBlockCols) {
            if (task.cancelled())
                return Result<Done>(stopped());
            const std::size_t end = std::min(columns.size(), begin + rowMomentsBlockCols);
            const std::vector<int> some(columns.begin() + static_cast<std::ptrdiff_t>(begin),
                                        columns.begin() + static_cast<std::ptrdiff_t>(end));
            Matrix<double> centred = right(Eigen::lastN(inner - first), some).template cast<double>();
            centred.colwise() -= out.mean.tail(inner - first);
            sum.noalias() += centred.topRows(size) * centred.transpose();
        }
        out.covariance.block(first, first, size, inner - first) = sum / count;
        return Result<Done>(Done{});
    });
    if (!done)
        return done.error();
    out.covariance = Matrix<double>(out.covariance.selfadjointView<Eigen::Upper>());
    return out;
}

} // namespace

std::vector<int> usedIds(const std::vector<bool>& unused, Eigen::Index count)
{
    std::vector<int> ids;
    for (int id = 0; id < count; ++id) {
        if (unused.empty()
            || (static_cast<std::size_t>(id) < unused.size() && !unused[static_cast<std::size_t>(id)]))
            ids.push_back(id);
    }
    return ids;
}

template <typename Scalar>
Result<RowMoments> rowMoments(const Matrix<Scalar>& left, const Matrix<Scalar>& right, const LeftOut& leftOut,
                              const Task& task)
{
    const Eigen::Index rows = left.rows();
    const std::vector<int> columns = usedIds(leftOut.cols, right.cols());
    RowMoments out;
    out.entries = static_cast<Eigen::Index>(columns.size());
    out.mean = Eigen::VectorXd::Constant(rows, std::numeric_limits<double>::quiet_NaN());
    out.deviation = out.mean;
    if (columns.empty())
        return out;
    const auto of = columnMoments(right, columns, task);
    if (!of)
        return of.error();
    Eigen::VectorXd mean(rows), deviation(rows); // over all entries
    const auto done = parallelFor(parts(rows, rowMomentsBlockRows), task, "moments of rows", [&](int block) {
        const Eigen::Index first = block * rowMomentsBlockRows;
        const Eigen::Index size = std::min(rowMomentsBlockRows, rows - first);
        const Matrix<double> some = left.middleRows(first, size).template cast<double>();
        const Matrix<double> turned = some * of->covariance;
        mean.segment(first, size) = some * of->mean;
        deviation.segment(first, size) = turned.cwiseProduct(some).rowwise().sum().cwiseMax(0.0).cwiseSqrt();
        return Result<Done>(Done{});
    });
    if (!done)
        return done.error();
    for (const int row : usedIds(leftOut.rows, rows)) {
        out.mean(row) = mean(row);
        out.deviation(row) = deviation(row);
    }
    return out;
}

template Result<RowMoments> rowMoments(const Matrix<float>&, const Matrix<float>&, const LeftOut&,
                                       const Task&);
template Result<RowMoments> rowMoments(const Matrix<double>&, const Matrix<double>&, const LeftOut&,
                                       const Task&);

std::vector<double> gaussianPlaces(int count, Eigen::Index entries)
{
    std::vector<double> places(static_cast<std::size_t>(count), std::numeric_limits<double>::quiet_NaN());
    for (std::size_t rank = 0; rank < places.size() && static_cast<Eigen::Index>(rank) < entries; ++rank)
        places[rank] = expectedPlace(static_cast<double>(rank), static_cast<double>(entries));
    return places;
}

} // namespace headwise
