#include "core/analysis/comparison/ratio.h"

#include "core/results/color_scale.h"

#include <cassert>
#include <cmath>
#include <limits>

namespace headwise {

Eigen::MatrixXf ratioOf(const Eigen::MatrixXf& a, const Eigen::MatrixXf& b)
{
    assert(a.rows() == b.rows() && a.cols() == b.cols());
    const ValueStatistics values = statisticsOf(b);
    const double floor = values.count > 0 ? smallestDivisor * std::sqrt(values.squares / values.count) : 0;
    return a.binaryExpr(b, [floor](float x, float y) {
        const bool isLarge = std::isfinite(x) && std::isfinite(y) && std::abs(double{y}) > floor;
        return isLarge ? static_cast<float>(double{x} / double{y}) : std::numeric_limits<float>::quiet_NaN();
    });
}

} // namespace headwise
