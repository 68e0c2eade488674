#include "ui/document/head_metrics.h"

#include "core/results/array_cut.h"
#include "ui/base/text.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

namespace headwise::ui {

namespace {

constexpr double headMetricsMissing = std::numeric_limits<double>::quiet_NaN();

double entry(const ResultArray& array, std::size_t index)
{
    return std::visit(
        [index](const auto& values) -> double {
            using Value = typename std::decay_t<decltype(values)>::value_type;
            if (index >= values.size())
                return headMetricsMissing;
            if constexpr (std::is_arithmetic_v<Value>)
                return static_cast<double>(values[index]);
            else
                return static_cast<double>(std::abs(values[index]));
        },
        array.values);
}

// The copying score first, as the one most people ask for; then norms, then the rest by name.
int rank(const ResultArray& array)
{
    if (array.path == "scores/copying")
        return 0;
    if (array.path.starts_with("scores/"))
        return 1;
    return array.path.ends_with("frobenius_norm") ? 2 : 3;
}

} // namespace

std::vector<const ResultArray*> headMetrics(const ResultSet& results, const ModelCard& card)
{
    std::vector<const ResultArray*> metrics;
    for (const ResultArray& array : results.arrays)
        if (array.shape.size() == 2 && headAxes(array, card) == HeadAxes::OneHead)
            metrics.push_back(&array);
    std::stable_sort(metrics.begin(), metrics.end(),
                     [](const ResultArray* a, const ResultArray* b) { return rank(*a) < rank(*b); });
    return metrics;
}

double metricAt(const ResultArray& metric, HeadId head)
{
    if (metric.shape.size() != 2 || head.layer < 0 || head.head < 0
        || static_cast<std::size_t>(head.layer) >= metric.shape[0]
        || static_cast<std::size_t>(head.head) >= metric.shape[1])
        return headMetricsMissing;
    return entry(
        metric, static_cast<std::size_t>(head.layer) * metric.shape[1] + static_cast<std::size_t>(head.head));
}

Eigen::MatrixXf metricGrid(const ResultArray& metric)
{
    const auto layers = static_cast<int>(metric.shape[0]);
    const auto heads = static_cast<int>(metric.shape[1]);
    return Eigen::MatrixXf::NullaryExpr(layers, heads, [&](Eigen::Index layer, Eigen::Index head) {
        return static_cast<float>(metricAt(metric, {static_cast<int>(layer), static_cast<int>(head)}));
    });
}

QString metricTitle(const ResultArray& metric)
{
    return text(metric.title.empty() ? metric.path : metric.title);
}

double zScore(const ResultArray& metric, double value)
{
    if (!metric.nullMean || !metric.nullDeviation || *metric.nullDeviation <= 0)
        return headMetricsMissing;
    return (value - *metric.nullMean) / *metric.nullDeviation;
}

std::vector<double> headSeries(const ResultArray* array, HeadId head)
{
    if (!array || array->shape.size() != 3 || head.layer < 0 || head.head < 0
        || static_cast<std::size_t>(head.layer) >= array->shape[0]
        || static_cast<std::size_t>(head.head) >= array->shape[1])
        return {};
    const std::size_t count = array->shape[2];
    const std::size_t first =
        (static_cast<std::size_t>(head.layer) * array->shape[1] + static_cast<std::size_t>(head.head))
        * count;
    std::vector<double> series(count);
    for (std::size_t i = 0; i < count; ++i)
        series[i] = entry(*array, first + i);
    return series;
}

} // namespace headwise::ui
