#pragma once

#include "core/analysis/catalogue.h"
#include "core/model/architecture.h"

#include <span>
#include <string>
#include <vector>

namespace headwise {

/// Cost of one analysis of a plan.
struct PlannedCost {
    const Analysis* analysis = nullptr;
    AnalysisCost cost;
    double seconds = 0; ///< In one process.
};

/// The slowest of the parts of a run on several machines like this one.
struct NodesCost {
    int nodes = 1;
    double seconds = 0;
    double flops = 0;
    double bytes = 0; ///< The most that an analysis of any part needs.
};

/// Cost of a run before it starts.
struct CostPlan {
    std::vector<PlannedCost> analyses; ///< In the order in which they run.
    std::vector<std::string> leftOut;  ///< One sentence about each analysis that cannot run.
    double preparingFlops = 0;         ///< In every process: the token side, if an analysis needs it.
    double preparingBytes = 0;         ///< In every process: the weights, read once.
    double preparingSeconds = 0;       ///< Not split.
    double flops = 0;                  ///< Everything in one process.
    double bytes = 0;                  ///< The most that one analysis needs.
    double seconds = 0;
    std::vector<NodesCost> nodes;
};

/// A machine in numbers.
struct PlanMachine {
    int cores = 1;
    double bytesPerSecond = 0; ///< 0: unknown, and reading the weights counts as nothing.
};

/// Estimates a run of `chosen` in one process and, as `analyze --shard` shares it, on each number of `nodes`.
/// Errors: those of planRun.
Result<CostPlan> costPlan(std::span<const Analysis* const> chosen, const ModelDescription& model,
                          const AnalysisOptions& options, const PlanMachine& machine,
                          std::span<const int> nodes);

} // namespace headwise
