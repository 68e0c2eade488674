#include "app/commands/model_arguments.h"
#include "app/commands/support.h"
#include "core/analysis/catalogue.h"
#include "core/runs/plan.h"

#include <nlohmann/json.hpp>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <iostream>

namespace headwise::app {
namespace {

struct ListAnalysesOptions {
    std::shared_ptr<ModelArguments> model;
    bool json = false;
};

/// Formats "3.2 G": three digits and a power of a thousand.
std::string listAnalysesScaled(double value)
{
    static constexpr std::array<const char*, 7> units{"", "k", "M", "G", "T", "P", "E"};
    std::size_t unit = 0;
    while (value >= 999.5 && unit + 1 < units.size()) {
        value /= 1000;
        ++unit;
    }
    return fmt::format("{:.3g} {}", value, units[unit]);
}

std::string needsOf(const Analysis& analysis)
{
    std::string needs = analysis.needsTokens ? "embedding and unembedding" : "attention weights";
    const auto add = [&](bool isNeeded, const char* what) {
        if (isNeeded)
            needs += std::string(", ") + what;
    };
    add(analysis.needs.tokenizer, "tokenizer");
    add(analysis.needs.prompt, "a prompt");
    add(analysis.needs.token, "a token");
    add(analysis.needs.pair, "two heads");
    add(analysis.needs.direction, "a direction");
    add(analysis.followsMetric, "follows --metric");
    add(analysis.followsFilter, "follows token filters");
    return needs;
}

/// Assumes inputs that any user can give, such as a token, because the list says whether the model fits.
AnalysisOptions usualInputs()
{
    AnalysisOptions options;
    options.inputs.token = 0;
    return options;
}

/// Tells whether `analyze` computes it by default on this model; without a model, whether it may.
bool isDefault(const Analysis& analysis, const ModelConfig* config)
{
    if (!config)
        return analysis.isDefault;
    const auto chosen = defaultAnalyses(*config, {});
    return std::find(chosen.begin(), chosen.end(), &analysis) != chosen.end();
}

void printAnalysesText(const ModelConfig* config)
{
    for (const Analysis& analysis : catalogue()) {
        std::cout << fmt::format("{:<16} {:<7} {}{}\n", analysis.id, analysis.number, analysis.title,
                                 isDefault(analysis, config) ? " (default)" : "");
        std::cout << fmt::format("{:<16} {}\n", "", analysis.formula);
        std::cout << fmt::format("{:<16} needs: {}; source: {}\n", "", needsOf(analysis), analysis.citation);
        if (!config)
            continue;
        if (const std::string reason = whyNotOf(analysis, *config, usualInputs()); !reason.empty()) {
            std::cout << fmt::format("{:<16} not on this model: {}\n", "", reason);
            continue;
        }
        const AnalysisCost cost = analysis.cost(*config, usualInputs());
        std::cout << fmt::format("{:<16} on this model: {}flop, {}B\n", "", listAnalysesScaled(cost.flops),
                                 listAnalysesScaled(cost.bytes));
    }
}

nlohmann::ordered_json arraysOf(const Analysis& analysis)
{
    static constexpr std::array types{"f32", "complex64", "i32", "f64"};
    auto list = nlohmann::ordered_json::array();
    for (const ArraySpec& spec : analysis.arrays) {
        nlohmann::ordered_json row{{"path", spec.path},
                                   {"type", types.at(static_cast<std::size_t>(spec.type))},
                                   {"axes", axisNames(spec.axes)},
                                   {"title", spec.title},
                                   {"definition", spec.definition},
                                   {"unit", spec.unit}};
        if (spec.range)
            row["range"] = {spec.range->first, spec.range->second};
        row["condition"] = spec.condition;
        list.push_back(std::move(row));
    }
    return list;
}

void printAnalysesAsJson(const ModelConfig* config)
{
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const Analysis& analysis : catalogue()) {
        nlohmann::ordered_json row{{"name", analysis.id},
                                   {"number", analysis.number},
                                   {"title", analysis.title},
                                   {"formula", analysis.formula},
                                   {"citation", analysis.citation},
                                   {"needs", needsOf(analysis)},
                                   {"default", isDefault(analysis, config)},
                                   {"arrays", arraysOf(analysis)}};
        if (config) {
            const std::string reason = whyNotOf(analysis, *config, usualInputs());
            const AnalysisCost cost = analysis.cost(*config, usualInputs());
            row["applies"] = reason.empty();
            row["reason"] = reason;
            row["flops"] = cost.flops;
            row["bytes"] = cost.bytes;
        }
        list.push_back(std::move(row));
    }
    printJson(list);
}

Result<int> listAnalyses(const ListAnalysesOptions& options)
{
    const ModelConfig* config = nullptr;
    std::optional<ModelDescription> description;
    if (!options.model->path.empty()) {
        const auto source = options.model->source();
        if (!source)
            return source.error();
        const auto read = readModelConfig(*source);
        if (!read)
            return read.error();
        description = *read;
        config = &description->config;
    }
    if (options.json)
        printAnalysesAsJson(config);
    else
        printAnalysesText(config);
    return 0;
}

} // namespace

void addListAnalysesCommand(CLI::App& root, CommandContext& context)
{
    auto options = std::make_shared<ListAnalysesOptions>();
    CLI::App* command = root.add_subcommand(
        "list-analyses", "Lists the analyses, their inputs and, given a model, their cost on it");
    options->model = addModelArguments(*command);
    command->get_option("MODEL")->required(false);
    command->add_flag("--json", options->json,
                      "Prints a JSON list with the description, inputs and results of each analysis");
    command->callback(
        [options, &context] { context.work = [options](const Task&) { return listAnalyses(*options); }; });
}

} // namespace headwise::app
