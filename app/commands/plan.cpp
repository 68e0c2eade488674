#include "core/runs/plan.h"
#include "app/commands/model_arguments.h"
#include "app/commands/support.h"
#include "core/base/machine_rates.h"
#include "core/base/memory.h"
#include "core/model/head_list.h"
#include "core/runs/cost_plan.h"
#include "core/runs/estimate.h"

#include <nlohmann/json.hpp>
#include <spdlog/fmt/fmt.h>

#include <array>
#include <iostream>
#include <optional>

namespace headwise::app {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view planFooter =
    "A folder with only config.json is enough. Without --analyses: the default analyses of analyze.\n"
    "Seconds follow from the flops of each analysis and the speed of this machine, measured at the start (headwise info\n"
    "--system); expect them to be right within a factor of about three. Memory is the working memory and results of the largest\nanalysis, without the weights, which stay in their files. A run that needs more than is free is refused.\n"
    "\n"
    "Several nodes: headwise analyze --shard i/n on machines like this one, then headwise merge. Analyses split by heads\ntake an n-th each. Every other analysis runs whole on one node, so the longest of them sets the minimum time.\n"
    "Every node opens the model, reads its weights and computes the token side. Merging is not counted.\n"
    "\n"
    "JSON: name, cores, sgemm_flops_per_core, analysis_flops_per_core, memory_bytes_per_second, free_memory, analyses\n"
    "[{name, flops, bytes, seconds, split}], left_out [sentence], preparing {flops, bytes, seconds}, total {flops, bytes,\n"
    "seconds}, nodes [{nodes, flops, bytes, seconds}], of the slowest node. bytes of preparing are those of the weights in\n"
    "float32, read once; all other bytes are memory. Unknown rates are null.";

constexpr std::array usualNodes{1, 2, 4, 8, 16, 32, 64};

struct PlanOptions {
    std::shared_ptr<ModelArguments> model;
    std::shared_ptr<Precision> precision;
    std::optional<std::string> analyses, heads;
    int tableSize = 10;
    int nodes = 0; ///< 0: usualNodes
    bool json = false;
};

/// The machine and the plan for it.
struct PlanAnswer {
    std::string model;
    PlanMachine machine;
    CostPlan plan;
};

/// Formats "3.2 G": three digits and a power of a thousand.
std::string planScaled(double value)
{
    static constexpr std::array<const char*, 7> units{"", "k", "M", "G", "T", "P", "E"};
    std::size_t unit = 0;
    for (; value >= 999.5 && unit + 1 < units.size(); ++unit)
        value /= 1000;
    return fmt::format("{:.3g} {}", value, units[unit]);
}

std::string planTime(double seconds)
{
    return seconds < 1 ? "under 1 s" : durationText(seconds);
}

void printPlanRow(std::string_view name, double flops, const std::string& memory, double seconds,
                  std::string_view split)
{
    std::cout << fmt::format("{:<22}{:>10}flop {:>12}  {:<12}{}\n", name, planScaled(flops), memory,
                             planTime(seconds), split);
}

void printPlan(const PlanAnswer& answer)
{
    const CostPlan& plan = answer.plan;
    std::cout << fmt::format("{} on {} core{} with {:.0f} GFLOP/s each at sgemm, {:.0f} at analyses\n\n",
                             answer.model, answer.machine.cores, answer.machine.cores == 1 ? "" : "s",
                             coreSgemmRate() * 1e-9, analysisRate() * 1e-9);
    std::cout << fmt::format("{:<22}{:>14} {:>12}  {:<12}{}\n", "analysis", "arithmetic", "memory", "time",
                             "on several nodes");
    for (const PlannedCost& row : plan.analyses)
        printPlanRow(row.analysis->id, row.cost.flops, planScaled(row.cost.bytes) + "B", row.seconds,
                     row.analysis->isSplit ? "split by heads" : "whole on one");
    printPlanRow("opening, token side", plan.preparingFlops, "", plan.preparingSeconds, "on every one");
    printPlanRow("total", plan.flops, planScaled(plan.bytes) + "B", plan.seconds, "");
    std::cout << "\nnodes   time of the slowest   memory of a process\n";
    for (const NodesCost& row : plan.nodes)
        std::cout << fmt::format("{:>5}   {:<19}   {}B\n", row.nodes, planTime(row.seconds),
                                 planScaled(row.bytes));
    for (const std::string& sentence : plan.leftOut)
        std::cout << "\n" << sentence;
    if (!plan.leftOut.empty())
        std::cout << '\n';
}

void printPlanJson(const PlanAnswer& answer)
{
    const CostPlan& plan = answer.plan;
    ordered_json json{{"name", answer.model},
                      {"cores", answer.machine.cores},
                      {"sgemm_flops_per_core", coreSgemmRate()},
                      {"analysis_flops_per_core", analysisRate()},
                      {"memory_bytes_per_second", nullptr},
                      {"free_memory", nullptr}};
    if (answer.machine.bytesPerSecond > 0)
        json["memory_bytes_per_second"] = answer.machine.bytesPerSecond;
    if (const auto free = availableMemory())
        json["free_memory"] = *free;
    json["analyses"] = ordered_json::array();
    for (const PlannedCost& row : plan.analyses)
        json["analyses"].push_back({{"name", row.analysis->id},
                                    {"flops", row.cost.flops},
                                    {"bytes", row.cost.bytes},
                                    {"seconds", row.seconds},
                                    {"split", row.analysis->isSplit}});
    json["left_out"] = plan.leftOut;
    json["preparing"] = {
        {"flops", plan.preparingFlops}, {"bytes", plan.preparingBytes}, {"seconds", plan.preparingSeconds}};
    json["total"] = {{"flops", plan.flops}, {"bytes", plan.bytes}, {"seconds", plan.seconds}};
    json["nodes"] = ordered_json::array();
    for (const NodesCost& row : plan.nodes)
        json["nodes"].push_back(
            {{"nodes", row.nodes}, {"flops", row.flops}, {"bytes", row.bytes}, {"seconds", row.seconds}});
    printJson(json);
}

Result<int> plan(const PlanOptions& options, const Task& task)
{
    const auto source = options.model->source();
    if (!source)
        return source.error();
    const auto model = readModelConfig(*source);
    if (!model)
        return model.error();
    AnalysisOptions analysisOptions;
    analysisOptions.precision = *options.precision;
    analysisOptions.tableSize = options.tableSize;
    analysisOptions.inputs.token = 0; // any: the cost is the same
    if (options.heads) {
        const auto heads = parseHeads(*options.heads, model->config.nLayers, model->config.nHeads);
        if (!heads)
            return heads.error();
        analysisOptions.heads = *heads;
    }
    const auto chosen =
        options.analyses ? parseAnalyses(*options.analyses) : defaultAnalyses(model->config, analysisOptions);
    if (!chosen)
        return chosen.error();
    std::vector<int> nodes(usualNodes.begin(), usualNodes.end());
    if (options.nodes > 0)
        nodes = {options.nodes};
    PlanAnswer answer{model->config.name, {coresOf(task.threads), memoryReadRate(task)}, {}};
    auto planned = costPlan(*chosen, *model, analysisOptions, answer.machine, nodes);
    if (!planned)
        return planned.error();
    answer.plan = std::move(planned).value();
    if (options.json)
        printPlanJson(answer);
    else
        printPlan(answer);
    return 0;
}

} // namespace

void addPlanCommand(CLI::App& root, CommandContext& context)
{
    auto options = std::make_shared<PlanOptions>();
    CLI::App* command = root.add_subcommand(
        "plan",
        "Estimates the arithmetic, memory and time of analyses on this machine and on several like it");
    command->footer(std::string(planFooter));
    options->model = addModelArguments(*command);
    command
        ->add_option("--analyses", options->analyses,
                     "Analyses to estimate, by their names in headwise list-analyses, or all")
        ->type_name("a,b,...|all");
    command->add_option("--heads", options->heads, "Heads to compute, as in 0.1,2.*; default: all")
        ->type_name("L.H,...");
    command->add_option("-k", options->tableSize, "Entries per row of the token tables (default 10)")
        ->check(CLI::Range(1, 1000000).description(""))
        ->type_name("N");
    options->precision = addPrecisionOption(*command);
    addThreadsOption(*command, context);
    command->add_option("--nodes", options->nodes, "Number of machines; default: 1, 2, 4, … 64")
        ->check(CLI::Range(1, 10000).description(""))
        ->type_name("N");
    command->add_flag("--json", options->json, "Prints one JSON object instead of a table");
    command->callback(
        [options, &context] { context.work = [options](const Task& task) { return plan(*options, task); }; });
}

} // namespace headwise::app
