#include "core/circuits/axis_order.h"

#include "core/base/decompositions.h"
#include "core/circuits/axis_clusters.h"
#include "core/circuits/block.h"
#include "core/circuits/token_table.h"

#include <algorithm>
#include <numeric>

namespace headwise {

namespace {

std::vector<int> falling(const Eigen::Ref<const Eigen::VectorXd>& values)
{
    std::vector<int> order(static_cast<std::size_t>(values.size()));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return values(a) > values(b); });
    return order;
}

AxisOrders byVectors(const Eigen::VectorXd& u, const Eigen::VectorXd& v)
{
    Eigen::Index largest = 0;
    u.cwiseAbs().maxCoeff(&largest);
    const double sign = u(largest) < 0 ? -1 : 1;
    return {falling(sign * u), falling(sign * v)};
}

template <typename Vectors>
AxisOrders byVector(const Vectors& svd, int vector)
{
    const Eigen::Index k = std::min<Eigen::Index>(vector, svd.U.cols() - 1);
    return byVectors(svd.U.col(k).template cast<double>(), svd.V.col(k).template cast<double>());
}

/// Returns the rows of outer · inner up to a common rotation, [rows, rank]: only their angles matter.
/// \param outer [rows, r] \param inner [r, columns]
Result<Matrix<double>> rowsOf(const Matrix<float>& outer, const Matrix<float>& inner)
{
    const Matrix<double> thin = inner.cast<double>();
    const auto factor = semidefiniteFactor(thin * thin.transpose()); // Fᵀ F
    if (!factor)
        return factor.error();
    return Matrix<double>(outer.cast<double>() * factor->transpose());
}

AxisOrders byIndex(Eigen::Index rows, Eigen::Index columns)
{
    AxisOrders all{std::vector<int>(static_cast<std::size_t>(rows)),
                   std::vector<int>(static_cast<std::size_t>(columns))};
    std::iota(all.rows.begin(), all.rows.end(), 0);
    std::iota(all.columns.begin(), all.columns.end(), 0);
    return all;
}

} // namespace

Result<AxisOrders> axisOrders(const Matrix<float>& matrix, AxisOrder order, int vector)
{
    if (order == AxisOrder::ByIndex || matrix.size() == 0)
        return byIndex(matrix.rows(), matrix.cols());
    if (order == AxisOrder::ByNorm)
        return AxisOrders{byNorm(matrix, false), byNorm(matrix, true)};
    if (order == AxisOrder::ByCluster && matrix.allFinite())
        return AxisOrders{clusterOrder(matrix.cast<double>()),
                          clusterOrder(matrix.transpose().cast<double>())};
    const auto svd = thinSvd(matrix.cast<double>());
    if (!svd)
        return svd.error();
    return byVector(*svd, vector);
}

Result<AxisOrders> axisOrders(const FactoredMatrix<float>& matrix, AxisOrder order, int vector)
{
    if (order == AxisOrder::ByIndex)
        return byIndex(matrix.rows(), matrix.cols());
    if (order == AxisOrder::ByNorm)
        return AxisOrders{falling(lineNorms(matrix, TableSide::Row).transpose()),
                          falling(lineNorms(matrix, TableSide::Column).transpose())};
    if (order == AxisOrder::ByCluster && matrix.left().allFinite() && matrix.right().allFinite()) {
        auto rows = rowsOf(matrix.left(), matrix.right());
        if (!rows)
            return rows.error();
        auto columns = rowsOf(matrix.right().transpose(), matrix.left().transpose());
        if (!columns)
            return columns.error();
        return AxisOrders{clusterOrder(*std::move(rows)), clusterOrder(*std::move(columns))};
    }
    const auto svd = matrix.svd();
    if (!svd)
        return svd.error();
    return byVector(*svd, vector);
}

} // namespace headwise
