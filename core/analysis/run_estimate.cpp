#include "core/analysis/run_estimate.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>

namespace headwise {

namespace {

constexpr double flopsPerSecond = 3.5e10; // of a core

/// "50 minutes", "3.5 hours"; what is estimated has two digits.
std::string roughly(double seconds)
{
    if (seconds < 90)
        return "a minute";
    if (seconds < 100 * 60)
        return fmt::format("{:.0f} minutes", std::round(seconds / 60));
    return seconds < 48.0 * 3600 ? fmt::format("{:.2g} hours", seconds / 3600)
                                 : fmt::format("{:.0f} days", std::round(seconds / 86400));
}

std::string gigabytes(double bytes)
{
    return fmt::format("{:.2g} GB", bytes / 1e9);
}

} // namespace

RunEstimate estimateRun(std::span<const Analysis* const> chosen, const ModelConfig& config,
                        const AnalysisOptions& options)
{
    RunEstimate estimate;
    for (const Analysis* analysis : chosen) {
        if (!whyLeftOut(*analysis, config, options).empty())
            continue;
        const AnalysisCost cost = analysis->cost(config, options);
        estimate.flops += cost.flops;
        if (!estimate.longest || cost.flops > estimate.longestFlops) {
            estimate.longest = analysis;
            estimate.longestFlops = cost.flops;
        }
        if (!estimate.largest || cost.bytes > estimate.bytes) {
            estimate.largest = analysis;
            estimate.bytes = cost.bytes;
        }
    }
    return estimate;
}

double estimatedSeconds(double flops)
{
    return flops / flopsPerSecond;
}

std::string whyTooLarge(const RunEstimate& estimate, double available)
{
    if (!estimate.largest || estimate.bytes <= available)
        return {};
    return fmt::format(
        "The analysis {} needs about {} of memory on this model and {} is free; ask for fewer heads "
        "(--heads), for a smaller -k, or for other analyses.",
        estimate.largest->id, gigabytes(estimate.bytes), gigabytes(available));
}

std::string longRunNotice(const RunEstimate& estimate, int cores)
{
    const double seconds = estimatedSeconds(estimate.flops) / std::max(1, cores);
    if (!estimate.longest || seconds < 60)
        return {};
    return fmt::format(
        "This takes roughly {} on {}, {:.0f} % of it {}; fewer heads (--heads) or fewer analyses take "
        "less, and Ctrl-C stops it without a file.",
        roughly(seconds), cores == 1 ? "one core" : fmt::format("{} cores", cores),
        100 * estimate.longestFlops / estimate.flops, estimate.longest->id);
}

} // namespace headwise
