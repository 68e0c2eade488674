#include "core/analysis/head_pairs.h"
#include "core/base/matrix.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

namespace headwise {

namespace {

/// Returns the values ascending, without NaN.
std::vector<double> sorted(std::vector<double> values)
{
    std::erase_if(values, [](double value) { return std::isnan(value); });
    std::sort(values.begin(), values.end());
    return values;
}

/// Returns the number of smaller values in `ascending` plus half the number of equal ones.
double middleRank(const std::vector<double>& ascending, double value)
{
    const auto [first, last] = std::equal_range(ascending.begin(), ascending.end(), value);
    return static_cast<double>(first - ascending.begin()) + static_cast<double>(last - first) / 2;
}

} // namespace

std::vector<HeadId> headsOfPairs(const ModelConfig& config, const AnalysisOptions& options)
{
    return selectedHeads(config, options.oneEndIsEnough ? AnalysisOptions{} : options);
}

std::vector<std::pair<HeadId, HeadId>> pairsAskedFor(const ModelConfig& config,
                                                     const AnalysisOptions& options)
{
    const std::vector<HeadId> asked = selectedHeads(config, options);
    const std::set<HeadId> isAsked(asked.begin(), asked.end());
    const std::vector<HeadId> heads = headsOfPairs(config, options);
    std::vector<std::pair<HeadId, HeadId>> pairs;
    for (const HeadId earlier : heads) {
        for (const HeadId later : heads) {
            if (earlier.layer < later.layer && (isAsked.contains(earlier) || isAsked.contains(later)))
                pairs.emplace_back(earlier, later);
        }
    }
    return pairs;
}

std::string whyNotPair(const ModelConfig& config, const AnalysisOptions& options)
{
    if (!options.inputs.pair)
        return {};
    const auto [earlier, later] = *options.inputs.pair;
    for (const HeadId head : {earlier, later}) {
        if (head.layer < 0 || head.layer >= config.nLayers || head.head < 0 || head.head >= config.nHeads) {
            return fmt::format("There is no head {}: this model has layers 0 to {} with heads 0 to {}.",
                               dottedHead(head), config.nLayers - 1, config.nHeads - 1);
        }
    }
    if (earlier.layer >= later.layer)
        return fmt::format("Head {} is not in an earlier layer than head {}; name the earlier head first.",
                           dottedHead(earlier), dottedHead(later));
    return {};
}

Sample::Sample(std::vector<double> values)
    : m_values(sorted(std::move(values)))
{
}

double Sample::mean() const
{
    return m_values.empty()
        ? notComputed
        : std::accumulate(m_values.begin(), m_values.end(), 0.0) / static_cast<double>(m_values.size());
}

double Sample::deviation() const
{
    if (m_values.size() < 2)
        return notComputed;
    const double middle = mean();
    double sum = 0;
    for (const double value : m_values)
        sum += (value - middle) * (value - middle);
    return std::sqrt(sum / static_cast<double>(m_values.size() - 1));
}

double Sample::share(double value) const
{
    return std::isnan(value) || m_values.empty()
        ? notComputed
        : middleRank(m_values, value) / static_cast<double>(m_values.size());
}

double Sample::percentile(double value) const
{
    if (std::isnan(value))
        return notComputed;
    return (middleRank(m_values, value) + 0.5) / (static_cast<double>(m_values.size()) + 1);
}

} // namespace headwise
