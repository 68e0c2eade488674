#include "core/runs/cost_plan.h"

#include "core/analysis/residual_basis.h"
#include "core/model/model_facts.h"
#include "core/runs/estimate.h"
#include "core/runs/plan.h"
#include "core/runs/shard.h"

#include <algorithm>
#include <utility>

namespace headwise {

namespace {

/// Flops of the token side's Gram products, EᵀE, W_U W_Uᵀ and W_U E, in a process that runs these analyses.
double tokenSideFlops(std::span<const Analysis* const> analyses, const ModelConfig& config,
                      const AnalysisOptions& options)
{
    const bool needsIt = std::any_of(analyses.begin(), analyses.end(), [&](const Analysis* analysis) {
        return needsTokenSide(*analysis, options);
    });
    const double tokens = static_cast<double>(config.dVocab) + config.dVocabOut;
    const double products = config.tiedEmbeddings ? 0.5 : 2; // one symmetric product alone if they are tied
    return needsIt ? products * tokens * config.dModel * config.dModel : 0;
}

/// A run whose parts are compared.
struct PlannedRuns {
    std::span<const Analysis* const> analyses;
    const ModelConfig& config;
    const AnalysisOptions& options;
    double readingSeconds = 0; // of the weights, in every process
    int cores = 1;
};

/// Returns the slowest part of a run on `nodes` machines.
NodesCost slowestPart(const PlannedRuns& run, int nodes)
{
    NodesCost slowest{nodes, 0, 0, 0};
    for (int i = 1; i <= nodes; ++i) {
        const Shard shard{i, nodes};
        AnalysisOptions own = run.options;
        if (nodes > 1)
            own.share = headsOfShard(shard, run.config, run.options);
        const std::vector<const Analysis*> part =
            analysesOfShard(shard, run.analyses, run.config, run.options);
        const RunEstimate estimate = estimateRun(part, run.config, own);
        const double tokenSide = tokenSideFlops(part, run.config, run.options);
        const double flops = estimate.flops + tokenSide;
        slowest.flops = std::max(slowest.flops, flops);
        slowest.bytes = std::max(slowest.bytes, estimate.bytes);
        slowest.seconds = std::max(
            slowest.seconds, run.readingSeconds + estimatedSeconds(estimate.work + tokenSide, run.cores));
    }
    return slowest;
}

} // namespace

Result<CostPlan> costPlan(std::span<const Analysis* const> chosen, const ModelDescription& model,
                          const AnalysisOptions& options, const PlanMachine& machine,
                          std::span<const int> nodes)
{
    const ModelConfig& config = model.config;
    auto planned = planRun(chosen, config, options);
    if (!planned)
        return planned.error();
    CostPlan plan;
    const RunPlan run = std::move(planned).value();
    plan.leftOut = run.warnings;
    const std::vector<const Analysis*>& analyses = run.analyses;
    plan.preparingFlops = tokenSideFlops(analyses, config, options);
    plan.preparingBytes = 4.0 * static_cast<double>(parameterCount(model));
    const double reading = machine.bytesPerSecond > 0 ? plan.preparingBytes / machine.bytesPerSecond : 0;
    plan.preparingSeconds = reading + estimatedSeconds(plan.preparingFlops, machine.cores);
    plan.flops = plan.preparingFlops;
    plan.seconds = plan.preparingSeconds;
    for (const Analysis* analysis : analyses) {
        const AnalysisCost cost = runCost(*analysis, config, options, analyses);
        const double seconds = estimatedSeconds(cost.work(), machine.cores);
        plan.analyses.push_back({analysis, cost, seconds});
        plan.flops += cost.flops;
        plan.bytes = std::max(plan.bytes, cost.bytes);
        plan.seconds += seconds;
    }
    const PlannedRuns runs{analyses, config, options, reading, machine.cores};
    for (const int count : nodes)
        plan.nodes.push_back(slowestPart(runs, count));
    return plan;
}

} // namespace headwise
