#include "app/commands/model_arguments.h"
#include "app/commands/support.h"
#include "app/commands/token_list.h"
#include "core/model/forward.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <iostream>
#include <random>

namespace headwise::app {

namespace {

struct Options {
    std::shared_ptr<ModelArguments> model;
    std::shared_ptr<ProcessingArguments> processing;
    std::shared_ptr<PromptArguments> prompt;
    double tolerance = 1e-4;
    bool json = false;
};

struct VerifiedStep {
    StepOutcome outcome;
    double difference = 0; ///< nats; NaN if a logit is not a number
};

/// min(64, n_ctx) ids: std::mt19937 with seed 0, modulo d_vocab, the same on every machine.
std::vector<int> defaultTokens(const ModelConfig& config)
{
    std::mt19937 engine(0);
    std::vector<int> tokens;
    for (int i = 0; i < std::min(64, config.nCtx); ++i)
        tokens.push_back(static_cast<int>(engine() % static_cast<unsigned>(config.dVocab)));
    return tokens;
}

Matrix<double> logSoftmax(Matrix<double> logits)
{
    for (Eigen::Index row = 0; row < logits.rows(); ++row) {
        const double largest = logits.row(row).maxCoeff();
        const double sum = (logits.row(row).array() - largest).exp().sum();
        logits.row(row).array() -= largest + std::log(sum);
    }
    return logits;
}

Result<Matrix<double>> logProbabilities(std::shared_ptr<const ModelWeights> model, const Processing& applied,
                                        const std::vector<int>& tokens, const Task& task)
{
    ProcessingPlan plan;
    plan.applied = applied;
    const auto weights = process(std::move(model), std::move(plan), task);
    if (!weights)
        return weights.error();
    auto run = forward<double>((*weights)->asStored(), tokens, task);
    if (!run)
        return run.error();
    return logSoftmax(run->logits);
}

/// Switches on the step of this name in `done`.
void addStep(Processing& done, std::string_view name)
{
    if (name == "fold-layer-norm")
        done.foldLayerNorm = true;
    else if (name == "center-writing-weights")
        done.centerWritingWeights = true;
    else if (name == "center-unembed")
        done.centerUnembed = true;
    else if (name == "fold-value-biases")
        done.foldValueBiases = true;
    else if (name == "refactor-factored-attention")
        done.refactorAttention = true;
}

double largestDifference(const Matrix<double>& a, const Matrix<double>& b)
{
    const Matrix<double> difference = (a - b).cwiseAbs();
    return difference.allFinite() ? difference.maxCoeff() : std::numeric_limits<double>::quiet_NaN();
}

/// The steps one after another, each on top of those before it.
Result<std::vector<VerifiedStep>> verifySteps(const std::shared_ptr<const ModelWeights>& model,
                                              const ProcessingPlan& plan, const std::vector<int>& tokens,
                                              const Task& task)
{
    const Task quiet{task.stop, {}, task.threads};
    Processing done = Processing::none();
    const auto original = logProbabilities(model, done, tokens, quiet);
    if (!original)
        return original.error();
    std::vector<VerifiedStep> steps;
    double difference = 0;
    for (const StepOutcome& outcome : plan.steps) {
        if (outcome.applied) {
            addStep(done, outcome.name);
            const auto after = logProbabilities(model, done, tokens, quiet);
            if (!after)
                return after.error();
            difference = largestDifference(*after, *original);
        }
        steps.push_back({outcome, difference});
        task.report(static_cast<int>(steps.size()), static_cast<int>(plan.steps.size()), "steps");
    }
    return steps;
}

void printText(const std::vector<VerifiedStep>& steps, const Options& options, const std::vector<int>& tokens,
               bool ok)
{
    std::cout << "tokens: " << tokenList(tokens) << '\n';
    for (const auto& [outcome, difference] : steps)
        std::cout << std::left << std::setw(28) << outcome.name
                  << (outcome.applied ? "applied" : "skipped (" + outcome.reason + ")")
                  << ", largest |difference of log-softmax| " << shortest(difference) << '\n';
    std::cout << (ok ? "within" : "above") << " the tolerance of " << shortest(options.tolerance) << '\n';
}

void printAsJson(const std::vector<VerifiedStep>& steps, const Options& options,
                 const std::vector<int>& tokens, bool ok)
{
    nlohmann::ordered_json answer;
    answer["steps"] = nlohmann::ordered_json::array();
    for (const auto& [outcome, difference] : steps)
        answer["steps"].push_back({{"name", outcome.name},
                                   {"applied", outcome.applied},
                                   {"reason", outcome.reason},
                                   {"max_abs_diff", difference}});
    answer["tolerance"] = options.tolerance;
    answer["tokens"] = tokens;
    answer["ok"] = ok;
    printJson(answer);
}

Result<int> verifyModel(const Options& options, const Task& task)
{
    const auto model = openModel(*options.model, task);
    if (!model)
        return model.error();
    const auto tokens = promptIds(*options.prompt, *options.model, **model);
    if (!tokens)
        return tokens.error();
    const auto plan = planProcessing(**model, options.processing->wish());
    if (!plan)
        return plan.error();
    printWarnings(plan->warnings);

    const std::vector<int> ids =
        tokens->empty() && !options.prompt->prompt ? defaultTokens((*model)->config()) : *tokens;
    const auto steps = verifySteps(*model, *plan, ids, task);
    if (!steps)
        return steps.error();
    // Written so that a NaN is not good.
    const bool ok = std::ranges::all_of(
        *steps, [&](const VerifiedStep& step) { return step.difference <= options.tolerance; });
    if (options.json)
        printAsJson(*steps, options, ids, ok);
    else
        printText(*steps, options, ids, ok);
    return ok ? 0 : 1;
}

} // namespace

void addVerifyCommand(CLI::App& root, CommandContext& context)
{
    CLI::App* command =
        root.add_subcommand("verify", "Measures that the processing keeps the model's function");
    command->footer(
        "Runs the model in float64 as it is and after each step, with the weights as `process` would write "
        "them, and\n"
        "prints the largest |log-softmax(after) - log-softmax(original)| over positions and vocabulary. The "
        "steps add up.\n"
        "Without --tokens and --prompt: min(64, n_ctx) ids, std::mt19937 with seed 0, modulo d_vocab.\n"
        "Exit code 1 if a difference is above the tolerance; a skipped step is no failure.");
    auto options = std::make_shared<Options>();
    options->model = addModelArguments(*command);
    options->prompt = addPromptArguments(*command);
    command
        ->add_option("--tolerance", options->tolerance,
                     "The largest difference that is good; 1e-4 by default")
        ->check(CLI::Validator(
            [](const std::string& text) {
                double value = 0;
                return CLI::detail::lexical_cast(text, value) && value >= 0
                    ? std::string()
                    : "'" + text + "' is no number from 0 on";
            },
            ""))
        ->type_name("NATS");
    command->add_flag("--json", options->json, "Prints steps, tolerance, tokens and ok as JSON");
    options->processing = addProcessingArguments(*command);
    addThreadsOption(*command, context);
    command->callback([options, &context] {
        context.work = [options](const Task& task) { return verifyModel(*options, task); };
    });
}

} // namespace headwise::app
