#include "core/runs/plan.h"

#include "core/analysis/selected_heads.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <sstream>
#include <utility>

namespace headwise {

namespace {

std::string wrongRequest(const ModelConfig& config, const AnalysisOptions& options)
{
    std::vector<HeadId> named = options.heads;
    named.insert(named.end(), options.inputs.previousTokenHeads.begin(),
                 options.inputs.previousTokenHeads.end());
    for (const HeadId head : named) {
        if (head.layer < 0 || head.layer >= config.nLayers || head.head < 0 || head.head >= config.nHeads) {
            return fmt::format("There is no head {}: this model has layers 0 to {} with heads 0 to {}.",
                               dottedHead(head), config.nLayers - 1, config.nHeads - 1);
        }
    }
    if (options.tableSize < 1)
        return fmt::format("The length of the token tables is {}, expected at least 1.", options.tableSize);
    return {};
}

} // namespace

std::string whyLeftOut(const Analysis& analysis, const ModelConfig& config, const AnalysisOptions& options)
{
    const InputNeeds& needs = analysis.needs;
    const AnalysisInputs& inputs = options.inputs;
    if (needs.tokenizer && !inputs.tokenizer)
        return "It needs the model's tokenizer, which is missing.";
    if (needs.prompt && inputs.prompt.empty())
        return "It needs a prompt (--prompt or --tokens).";
    if (needs.token && !inputs.token)
        return "It needs a token (--token).";
    if (needs.pair && !inputs.pair)
        return "It needs two heads (--pair).";
    if (needs.direction && inputs.direction.empty())
        return "It needs a direction (--direction).";
    return whyNotOf(analysis, config, options);
}

std::vector<const Analysis*> defaultAnalyses(const ModelConfig& config, const AnalysisOptions& options)
{
    const double heads = static_cast<double>(selectedHeads(config, options).size());
    const double products = heads * config.dVocab * config.dVocab * config.dHead;
    std::vector<const Analysis*> chosen;
    for (const Analysis& analysis : catalogue()) {
        if (analysis.isDefault && (analysis.defaultBudget == 0 || products <= analysis.defaultBudget))
            chosen.push_back(&analysis);
    }
    return chosen;
}

Result<std::vector<const Analysis*>> parseAnalyses(const std::string& names)
{
    std::vector<const Analysis*> chosen;
    std::istringstream parts(names);
    for (std::string name; std::getline(parts, name, ',');) {
        if (name == "all") {
            for (const Analysis& analysis : catalogue())
                chosen.push_back(&analysis);
            continue;
        }
        const Analysis* analysis = findAnalysis(name);
        if (!analysis) {
            return Error{ErrorCode::InvalidArgument,
                         "There is no analysis '" + name + "'; headwise list-analyses names them."};
        }
        chosen.push_back(analysis);
    }
    if (chosen.empty())
        return Error{ErrorCode::InvalidArgument,
                     "--analyses names no analysis; headwise list-analyses lists them, and all means all."};
    std::sort(chosen.begin(), chosen.end()); // rows of one table: the order of the catalogue
    chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
    return chosen;
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

Result<RunPlan> planRun(std::span<const Analysis* const> chosen, const ModelConfig& config,
                        const AnalysisOptions& options)
{
    if (std::string wrong = wrongRequest(config, options); !wrong.empty())
        return Error{ErrorCode::InvalidArgument, std::move(wrong)};
    RunPlan plan;
    for (const Analysis* analysis : chosen) {
        const std::string reason = whyLeftOut(*analysis, config, options);
        if (reason.empty())
            plan.analyses.push_back(analysis);
        else
            plan.warnings.push_back(leftOutWarning(*analysis, reason));
    }
    return plan;
}

std::string leftOutWarning(const Analysis& analysis, std::string_view reason)
{
    return fmt::format("{} was left out. {}", analysis.title, reason);
}

} // namespace headwise
