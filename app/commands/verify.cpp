#include "app/commands/model_arguments.h"
#include "app/commands/support.h"
#include "core/model/checkpoint_writer.h"
#include "core/model/forward.h"
#include "core/model/skipless.h"
#include "core/results/table_file.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <iostream>

namespace headwise::app {

namespace {

struct VerifyOptions {
    std::shared_ptr<ModelArguments> model;
    std::shared_ptr<ProcessingArguments> processing;
    std::shared_ptr<PromptArguments> prompt;
    std::string unmerged; ///< "": as the merged model's config says
    double tolerance = 1e-4;
    bool json = false;
};

constexpr int defaultTokenCount = 64; // fewer if the context is shorter

struct VerifiedStep {
    StepOutcome outcome;
    double difference = 0; ///< nats; NaN if a logit is NaN
};

Matrix<double> logSoftmax(Matrix<double> logits)
{
    for (Eigen::Index row = 0; row < logits.rows(); ++row) {
        const double largest = logits.row(row).maxCoeff();
        const double sum = (logits.row(row).array() - largest).exp().sum();
        logits.row(row).array() -= largest + std::log(sum);
    }
    return logits;
}

/// Uses the weights as `process` writes them.
Result<Matrix<double>> logProbabilities(const ProcessedWeights& weights, const std::vector<int>& tokens,
                                        const Task& task)
{
    auto run = forward<double>(weights.asStored(), tokens, task);
    if (!run)
        return run.error();
    return logSoftmax(run->logits);
}

Result<Matrix<double>> logProbabilities(std::shared_ptr<const ModelWeights> model, const Processing& applied,
                                        const std::vector<int>& tokens, const Task& task)
{
    ProcessingPlan plan;
    plan.applied = applied;
    const auto weights = process(std::move(model), std::move(plan), task);
    if (!weights)
        return weights.error();
    return logProbabilities(**weights, tokens, task);
}

/// Turns on the step of this name in `done`.
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

/// Verifies the steps one after another, each on top of the previous ones.
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

std::string asReason(std::string message)
{
    while (message.ends_with('.'))
        message.pop_back();
    return message;
}

/// Verifies the merges of a skipless model, each pair on its own. If a pair cannot be merged but one matrix can, verifies
/// that.
Result<Done> verifyMerges(const std::shared_ptr<const ModelWeights>& model, const std::vector<int>& tokens,
                          const Task& task, std::vector<VerifiedStep>& steps)
{
    const Task quiet{task.stop, {}, task.threads};
    const auto unmerged = process(model, {}, quiet);
    if (!unmerged)
        return unmerged.error();
    const auto expected = logProbabilities(**unmerged, tokens, quiet);
    if (!expected)
        return expected.error();
    for (const MergePair pair : {MergePair::QP, MergePair::KP, MergePair::VP}) {
        VerifiedStep step{{"merge-" + std::string(mergeName(pair)), false, {}}, 0};
        if (losesOneMatrix(model->config())) {
            const auto reason = whyNotMerge(**unmerged, pair, quiet);
            if (!reason)
                return reason.error();
            step.outcome.reason = asReason(*reason);
            steps.push_back(step);
            step.outcome = {"merge-" + std::string(mergeName(pair).substr(0, 1)), false, {}};
        }
        const auto merged = mergePair(**unmerged, pair, quiet);
        if (!merged && merged.error().code != ErrorCode::InvalidArgument)
            return merged.error();
        if (merged) {
            const auto found = logProbabilities(*merged, tokens, quiet);
            if (!found)
                return found.error();
            step.outcome.applied = true;
            step.difference = largestDifference(*found, *expected);
        } else {
            step.outcome.reason = asReason(merged.error().message);
        }
        steps.push_back(std::move(step));
    }
    return Done{};
}

/// Returns the reference for a merged model: the skipless counterpart of the model it was made from.
Result<std::shared_ptr<const ModelWeights>> unmergedOf(const ModelWeights& merged, const std::string& named,
                                                       const Task& task)
{
    const MergeSource source = mergeSource(merged);
    const std::string path = named.empty() ? source.path : named;
    const auto notToBeHad = [](const std::string& reason) {
        return Error{ErrorCode::NotFound,
                     "This merged model cannot be compared: " + reason
                         + "; name the unmerged model with --unmerged."};
    };
    if (path.empty())
        return notToBeHad("its config does not name the unmerged model");
    const auto model = loadModel({path, std::nullopt, {}}, task);
    if (!model && (!named.empty() || model.error().code == ErrorCode::Cancelled))
        return model.error();
    if (!model)
        return notToBeHad("'" + path + "', which it was made from, cannot be opened");
    if (named.empty() && (*model)->file().sha256() != source.sha256)
        return notToBeHad("'" + path + "', which it was made from, has changed since");
    auto counterpart = skiplessCounterpart(**model);
    const ModelConfig &a = merged.config(), &b = counterpart.config();
    if (b.merged || a.dVocab != b.dVocab || a.dVocabOut != b.dVocabOut || a.nCtx != b.nCtx)
        return Error{ErrorCode::InvalidArgument,
                     "'" + path + "' is not what '" + merged.file().path().string() + "' was merged from: "
                         + (b.merged ? "it is merged itself." : "vocabulary or context differ.")};
    return std::make_shared<const ModelWeights>(std::move(counterpart));
}

/// Compares a merged model, as it is in its file, with the unmerged one.
Result<VerifiedStep> verifyMerged(const std::shared_ptr<const ModelWeights>& model, const std::string& named,
                                  const std::vector<int>& tokens, const Task& task)
{
    const Task quiet{task.stop, {}, task.threads};
    VerifiedStep step{{"merge-" + std::string(mergeName(*model->config().merged)), true, {}}, 0};
    const auto unmerged = unmergedOf(*model, named, quiet);
    if (!unmerged)
        return unmerged.error();
    const auto expected = logProbabilities(*unmerged, Processing::none(), tokens, quiet);
    if (!expected)
        return expected.error();
    const auto found = logProbabilities(model, Processing::none(), tokens, quiet);
    if (!found)
        return found.error();
    step.difference = largestDifference(*found, *expected);
    return step;
}

Result<std::vector<VerifiedStep>> verifyAll(const VerifyOptions& options,
                                            const std::shared_ptr<const ModelWeights>& model,
                                            const std::vector<int>& tokens, const Task& task)
{
    const ModelConfig& config = model->config();
    std::vector<VerifiedStep> steps;
    if (config.attentionWidth() == config.dModel) { // otherwise there are no circuits to process
        const auto plan = planProcessing(*model, options.processing->wish());
        if (!plan)
            return plan.error();
        printWarnings(plan->warnings);
        auto verified = verifySteps(model, *plan, tokens, task);
        if (!verified)
            return verified;
        steps = *std::move(verified);
    }
    if (config.merged) {
        auto merged = verifyMerged(model, options.unmerged, tokens, task);
        if (!merged)
            return merged.error();
        steps.push_back(*std::move(merged));
    } else if (config.skipless) {
        if (const auto done = verifyMerges(model, tokens, task, steps); !done)
            return done.error();
    }
    return steps;
}

void printVerifyText(const std::vector<VerifiedStep>& steps, const VerifyOptions& options,
                     const std::vector<int>& tokens, bool ok)
{
    std::cout << "tokens: " << tokenList(tokens) << '\n';
    for (const auto& [outcome, difference] : steps)
        std::cout << std::left << std::setw(28) << outcome.name
                  << (outcome.applied ? "applied" : "skipped (" + outcome.reason + ")")
                  << ", largest |difference of log-softmax| " << shortestText(difference) << '\n';
    std::cout << (ok ? "within" : "above") << " the tolerance of " << shortestText(options.tolerance) << '\n';
}

void printVerifyAsJson(const std::vector<VerifiedStep>& steps, const VerifyOptions& options,
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

Result<int> verifyModel(const VerifyOptions& options, const Task& task)
{
    const auto model = openModel(*options.model, task);
    if (!model)
        return model.error();
    const auto tokens = promptIds(*options.prompt, *options.model, **model);
    if (!tokens)
        return tokens.error();
    const std::vector<int> ids = tokens->empty() && !options.prompt->prompt
        ? seededTokens((*model)->config(), defaultTokenCount, 0)
        : *tokens;
    const auto steps = checkedAnswer(verifyAll(options, *model, ids, task), (*model)->file());
    if (!steps)
        return steps.error();
    // The comparison is false for NaN.
    const bool ok = std::ranges::all_of(
        *steps, [&](const VerifiedStep& step) { return step.difference <= options.tolerance; });
    if (options.json)
        printVerifyAsJson(*steps, options, ids, ok);
    else
        printVerifyText(*steps, options, ids, ok);
    return ok ? 0 : 1;
}

} // namespace

void addVerifyCommand(CLI::App& root, CommandContext& context)
{
    CLI::App* command =
        root.add_subcommand("verify", "Checks that the processing keeps the model's function");
    command->footer(
        "Runs the model in float64 as it is and after each step, with the weights as `process` would write them, and\n"
        "prints the largest |log-softmax(after) - log-softmax(original)| over positions and vocabulary. The steps add up.\n"
        "Without --tokens and --prompt: min(64, n_ctx) ids, std::mt19937 with seed 0, modulo d_vocab.\n"
        "Exit code 1 if a difference is above the tolerance; a skipped step is not a failure.\n"
        "For a skipless model, each possible merge is compared with the unmerged model. A merged model is compared with\n"
        "the skipless counterpart of the model named by its config or by --unmerged.");
    auto options = std::make_shared<VerifyOptions>();
    options->model = addModelArguments(*command);
    options->prompt = addPromptArguments(*command);
    command->add_option("--tolerance", options->tolerance, "Largest difference that passes (default 1e-4)")
        ->check(CLI::Validator(
            [](const std::string& text) {
                double value = 0;
                return CLI::detail::lexical_cast(text, value) && value >= 0 && std::isfinite(value)
                    ? std::string()
                    : "'" + text + "' is not a number of at least 0";
            },
            ""))
        ->type_name("NATS");
    command
        ->add_option("--unmerged", options->unmerged,
                     "For a merged model: the model it was made from, if its config does not name it")
        ->type_name("MODEL");
    command->add_flag("--json", options->json, "Prints steps, tolerance, tokens and ok as JSON");
    options->processing = addProcessingArguments(*command);
    addThreadsOption(*command, context);
    command->callback([options, &context] {
        context.work = [options](const Task& task) { return verifyModel(*options, task); };
    });
}

} // namespace headwise::app
