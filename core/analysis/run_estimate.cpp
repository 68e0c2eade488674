#include "core/analysis/run_estimate.h"

#include "core/analysis/residual_basis.h"

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

AnalysisCost runCost(const Analysis& analysis, const ModelConfig& config, const AnalysisOptions& options)
{
    AnalysisCost cost = analysis.cost(config, options);
    if (!isInEmbeddingBasis(analysis, options))
        return cost;
    const double d = config.dModel;
    const double heads = static_cast<double>(config.nLayers) * config.nHeads;
    cost.flops += heads * 8 * d * d * config.dHead + 9 * d * d * d; // its factors, and the basis
    cost.bytes += 6 * d * d * 8;
    if (analysis.needsTokens) { // E and W_U once more
        const double tokens = static_cast<double>(config.dVocab) + config.dVocabOut;
        cost.flops += 2 * d * d * tokens;
        cost.bytes += d * tokens * (options.precision == Precision::F64 ? 12 : 4);
    }
    return cost;
}

bool takesNamedHeadsAlone(const Analysis& analysis, const ModelConfig& config, AnalysisOptions options)
{
    options.inputs.token.reset(); // with one, skip_trigrams has something else to say of all heads
    options.heads.clear();
    if (analysis.whyNot(config, options).empty())
        return false;
    options.heads = {{0, 0}};
    return analysis.whyNot(config, options).empty();
}

bool takesNamedHeads(const Analysis& analysis, const ModelConfig& config, AnalysisOptions options)
{
    options.heads.clear();
    const AnalysisCost ofAll = analysis.cost(config, options);
    options.heads = {{0, 0}};
    const AnalysisCost ofOne = analysis.cost(config, options);
    return ofAll.flops != ofOne.flops || ofAll.bytes != ofOne.bytes
        || takesNamedHeadsAlone(analysis, config, options);
}

RunEstimate estimateRun(std::span<const Analysis* const> chosen, const ModelConfig& config,
                        const AnalysisOptions& options)
{
    RunEstimate estimate;
    for (const Analysis* analysis : chosen) {
        if (!whyLeftOut(*analysis, config, options).empty())
            continue;
        const AnalysisCost cost = runCost(*analysis, config, options);
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
        "The analysis {} needs about {} of memory on this model and {} is free; ask for fewer heads (--heads), for a smaller -k, or for other analyses.",
        estimate.largest->id, gigabytes(estimate.bytes), gigabytes(available));
}

std::string longRunNotice(const RunEstimate& estimate, int cores)
{
    const double seconds = estimatedSeconds(estimate.flops) / std::max(1, cores);
    if (!estimate.longest || seconds < 60)
        return {};
    return fmt::format(
        "This takes roughly {} on {}, {:.0f} % of it {}; fewer heads (--heads) or fewer analyses take less, and Ctrl-C stops it without a file.",
        roughly(seconds), cores == 1 ? "one core" : fmt::format("{} cores", cores),
        100 * estimate.longestFlops / estimate.flops, estimate.longest->id);
}

} // namespace headwise
