#include "core/runs/estimate.h"

#include "core/analysis/residual_basis.h"
#include "core/analysis/selected_heads.h"
#include "core/base/blas_kernels.h"
#include "core/base/machine_rates.h"
#include "core/runs/plan.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <thread>

namespace headwise {

namespace {

/// Part of a core's speed at sgemm that analyses reach as a rule, because most of their arithmetic is in double. The costs of
/// the default analyses say how much faster or slower they are; `tests/bench/run --plan` checks them.
constexpr double partOfSgemm = 0.29;
/// With kernels for AVX-512, which make sgemm twice as fast, but not what analyses do between products.
constexpr double partOfAvx512 = 0.23;
constexpr double trust = 1; // s that the usual speed counts as measured

/// "50 minutes", "3.5 hours": two digits.
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

AnalysisCost runCost(const Analysis& analysis, const ModelConfig& config, const AnalysisOptions& options,
                     std::span<const Analysis* const> inRun)
{
    const bool isAfter =
        std::ranges::any_of(inRun, [&](const Analysis* other) { return other->id == analysis.after; });
    const auto costOf = isAfter ? analysis.costAfter : analysis.cost;
    AnalysisCost cost = costOf(config, options);
    if (analysis.isSplit && options.share) {
        AnalysisOptions own = options;
        own.heads = *options.share;
        const auto all = static_cast<double>(selectedHeads(config, options).size());
        cost.flops *= static_cast<double>(options.share->size()) / all;
        cost.bytes = costOf(config, own).bytes;
    }
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

RunEstimate estimateRun(std::span<const Analysis* const> chosen, const ModelConfig& config,
                        const AnalysisOptions& options)
{
    RunEstimate estimate;
    for (const Analysis* analysis : chosen) {
        if (!whyLeftOut(*analysis, config, options).empty())
            continue;
        const AnalysisCost cost = runCost(*analysis, config, options, chosen);
        estimate.flops += cost.flops;
        estimate.work += cost.work();
        if (!estimate.longest || cost.work() > estimate.longestWork) {
            estimate.longest = analysis;
            estimate.longestWork = cost.work();
        }
        if (!estimate.largest || cost.bytes > estimate.bytes) {
            estimate.largest = analysis;
            estimate.bytes = cost.bytes;
        }
    }
    return estimate;
}

int coresOf(int threads)
{
    return threads > 0 ? threads : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

double analysisRate(int cores)
{
    static const double part = isForAvx512(blasKernels()) ? partOfAvx512 : partOfSgemm;
    return part * coreSgemmRate() * std::max(1, cores);
}

double estimatedSeconds(double work, int cores)
{
    return work / analysisRate(cores);
}

std::string whyTooLarge(const RunEstimate& estimate, double available, std::string_view advice)
{
    if (!estimate.largest || estimate.bytes <= available)
        return {};
    return fmt::format("The analysis {} needs about {} of memory on this model, but only {} is free; {}.",
                       estimate.largest->id, gigabytes(estimate.bytes), gigabytes(available), advice);
}

std::string longRunNotice(const RunEstimate& estimate, int cores)
{
    const double seconds = estimatedSeconds(estimate.work, cores);
    if (!estimate.longest || seconds < 60)
        return {};
    return fmt::format("This takes roughly {} on {}, {:.0f} % of it {}.", roughly(seconds),
                       cores == 1 ? "one core" : fmt::format("{} cores", cores),
                       100 * estimate.longestWork / estimate.work, estimate.longest->id);
}

std::string durationText(double seconds)
{
    const auto whole = static_cast<long long>(std::max(1.0, std::floor(std::min(seconds, 1e12) + 0.5)));
    if (whole < 100)
        return fmt::format("{} s", whole);
    const long long minutes = (whole + 30) / 60;
    return minutes < 60 ? fmt::format("{} min", minutes)
                        : fmt::format("{} h {} min", minutes / 60, minutes % 60);
}

std::string runStatusText(const RunStatus& status)
{
    const std::string done = fmt::format("{} %", static_cast<int>(100 * status.fraction));
    return status.fraction < 1 ? fmt::format("{} · {} left", done, durationText(status.secondsLeft)) : done;
}

RunMeter::RunMeter(int cores)
    : m_cores(coresOf(cores))
{
}

void RunMeter::reset()
{
    m_done = m_running = {};
    m_fraction = 0;
    m_finished = 0;
    m_isRunning = false;
}

void RunMeter::begin(double flops, Time now)
{
    m_running = {flops, 0};
    m_fraction = 0;
    m_isRunning = true;
    m_begin = now;
}

void RunMeter::advance(double fraction, Time now)
{
    if (!m_isRunning)
        return;
    m_fraction = std::clamp(fraction, m_fraction, 1.0);
    m_running.seconds = std::max(m_running.seconds, std::chrono::duration<double>(now - m_begin).count());
}

void RunMeter::complete(Time now)
{
    if (!m_isRunning)
        return;
    advance(1, now);
    m_done.flops += m_running.flops;
    m_done.seconds += m_running.seconds;
    fail();
}

void RunMeter::fail()
{
    if (!m_isRunning)
        return;
    ++m_finished;
    interrupt();
}

void RunMeter::interrupt()
{
    m_running = {};
    m_fraction = 0;
    m_isRunning = false;
}

RunStatus RunMeter::status(double flops, int count) const
{
    RunStatus status;
    const int running = m_isRunning ? 1 : 0;
    status.index = m_isRunning ? m_finished + 1 : 0;
    status.count = m_finished + running + count;
    const double total = m_done.flops + m_running.flops + flops;
    const double done = m_done.flops + m_running.flops * m_fraction;
    status.fraction = total > 0 ? done / total : running + count == 0 ? 1 : 0;
    const double speed =
        (trust * analysisRate(m_cores) + done) / (trust + m_done.seconds + m_running.seconds);
    status.secondsLeft = (total - done) / speed;
    return status;
}

} // namespace headwise
