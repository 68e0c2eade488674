#include "core/analysis/axis_order.h"

#include "core/analysis/block.h"
#include "core/analysis/token_table.h"
#include "core/base/decompositions.h"

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

AxisOrders byIndex(Eigen::Index rows, Eigen::Index columns)
{
    AxisOrders all{std::vector<int>(static_cast<std::size_t>(rows)),
                   std::vector<int>(static_cast<std::size_t>(columns))};
    std::iota(all.rows.begin(), all.rows.end(), 0);
    std::iota(all.columns.begin(), all.columns.end(), 0);
    return all;
}

} // namespace

Result<AxisOrders> axisOrders(const Matrix<float>& matrix, AxisOrder order)
{
    if (order == AxisOrder::ByIndex || matrix.size() == 0)
        return byIndex(matrix.rows(), matrix.cols());
    if (order == AxisOrder::ByNorm)
        return AxisOrders{byNorm(matrix, false), byNorm(matrix, true)};
    const auto svd = thinSvd(matrix.cast<double>());
    if (!svd)
        return svd.error();
    return byVectors(svd->U.col(0), svd->V.col(0));
}

Result<AxisOrders> axisOrders(const FactoredMatrix<float>& matrix, AxisOrder order)
{
    if (order == AxisOrder::ByIndex)
        return byIndex(matrix.rows(), matrix.cols());
    if (order == AxisOrder::ByNorm)
        return AxisOrders{falling(lineNorms(matrix, TableSide::Row).transpose()),
                          falling(lineNorms(matrix, TableSide::Column).transpose())};
    const auto svd = matrix.svd();
    if (!svd)
        return svd.error();
    return byVectors(svd->U.col(0).cast<double>(), svd->V.col(0).cast<double>());
}

} // namespace headwise
