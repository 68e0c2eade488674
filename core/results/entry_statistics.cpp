#include "core/results/entry_statistics.h"

#include "core/results/color_scale.h"

#include <algorithm>
#include <cmath>

namespace headwise {

namespace {

double deviation(double mean, double meanSquare)
{
    return std::isnan(meanSquare) ? meanSquare : std::sqrt(std::max(0.0, meanSquare - mean * mean));
}

} // namespace

EntryStatistics entryStatistics(const Matrix<float>& matrix)
{
    const ValueStatistics values = statisticsOf(matrix);
    const double mean = values.sum / values.count; // 0/0: NaN
    EntryStatistics found{mean, deviation(mean, values.squares / values.count)};
    if (values.count > 0)
        found.range = {values.low, values.high};
    return found;
}

EntryStatistics entryStatistics(const FactoredMatrix<float>& product)
{
    const double count = static_cast<double>(product.rows()) * static_cast<double>(product.cols());
    const RowVector<double> left = product.left().cast<double>().colwise().sum();
    const Eigen::VectorXd right = product.right().cast<double>().rowwise().sum();
    const double mean = left.dot(right) / count;
    const double norm = product.frobeniusNorm();
    return {mean, deviation(mean, norm * norm / count)};
}

} // namespace headwise
