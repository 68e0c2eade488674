#include "app/commands/model_arguments.h"
#include "app/commands/support.h"
#include "core/files/file_write.h"
#include "core/model/checkpoint_writer.h"
#include "core/model/finite_weights.h"
#include "core/model/skipless.h"

#include <nlohmann/json.hpp>
#include <spdlog/fmt/fmt.h>

#include <iostream>

namespace headwise::app {

namespace {

struct ProcessOptions {
    std::shared_ptr<ModelArguments> model;
    std::shared_ptr<ProcessingArguments> processing;
    std::string folder;
    std::vector<std::string> named; ///< --names: those of the written tensors, or a names map of the model
    std::string names = "transformer-lens";
    bool force = false;
    bool skipless = false, json = false;
    std::string merge; ///< "": no pair
};

/// Above this many flops of a forward pass, which take some minutes, the errors of a merge are not measured.
constexpr double maxMeasuredFlops = 3e12;
constexpr int measuredTokens = 32;

/// The model to write, and remarks on it besides the steps.
struct Output {
    std::shared_ptr<const ProcessedWeights> weights;
    std::vector<std::string> remarks;
};

Result<std::string> mergeRemark(const ProcessedWeights& merged, const ProcessedWeights& unmerged,
                                const Task& task)
{
    const ModelConfig& config = unmerged.config();
    const std::string name = "merge-" + std::string(mergeName(*merged.config().merged)) + ": applied";
    const std::vector<int> tokens = seededTokens(config, measuredTokens, 0);
    if (static_cast<double>(tokens.size()) * countFlops(config).perToken > maxMeasuredFlops)
        return name + "; its errors are not measured for a model this large; `verify` measures them";
    const auto errors = outputErrors(merged, unmerged, tokens, task);
    if (!errors)
        return errors.error();
    return fmt::format(
        "{}; the logits of {} tokens of seed 0 differ from the unmerged model's by {:.1e} (float64), {:.1e} (float32) and {:.1e} (bfloat16) of the largest",
        name, tokens.size(), errors->f64, errors->f32, errors->bf16);
}

/// Returns the model after the switches, or its skipless counterpart, with a pair merged if one was named.
Result<Output> outputOf(const ProcessOptions& options, const Task& task)
{
    const bool original = options.names == "original";
    if (original && (options.skipless || !options.merge.empty()))
        return Error{
            ErrorCode::InvalidArgument,
            "No family's layout can name a skipless model's tensors; --skipless and --merge write TransformerLens names."};
    if ((original || !options.merge.empty()) && !options.processing->headChanges.empty())
        return Error{
            ErrorCode::InvalidArgument,
            "A model with a changed head can only be written in TransformerLens names, unmerged; leave out --names original and --merge."};
    auto model = openModel(*options.model, task);
    if (!model)
        return model.error();
    std::shared_ptr<const ModelWeights> source = *std::move(model);
    Output output;
    if (options.skipless && !source->config().skipless) {
        source = std::make_shared<const ModelWeights>(skiplessCounterpart(*source));
        output.remarks.emplace_back(
            "skipless: applied; this changes the model's function: its skip connections and all its norms are dropped");
    }
    ProcessingWish wish = options.processing->wish();
    wish.biasHomes = original ? BiasHomes::AsStored : BiasHomes::Anywhere;
    auto plan = planProcessing(*source, wish);
    if (!plan)
        return plan.error();
    printWarnings(plan->warnings);
    auto weights = process(source, *std::move(plan), task);
    if (!weights)
        return weights.error();
    output.weights = *weights;
    if (options.merge.empty())
        return output;
    const MergePair pair = *parseMerge(options.merge);
    const auto refusal = whyNotMerge(*output.weights, pair, Task{task.stop, {}, task.threads});
    if (!refusal)
        return refusal.error();
    if (!refusal->empty())
        return Error{ErrorCode::InvalidArgument, *refusal};
    const auto merged = mergePair(*output.weights, pair, task);
    if (!merged)
        return merged.error();
    auto remark = mergeRemark(*merged, *output.weights, task);
    if (!remark)
        return remark.error();
    output.remarks.push_back(*std::move(remark));
    output.weights = std::make_shared<const ProcessedWeights>(*merged);
    return output;
}

/// Warns that a vocabulary inside a file of weights is not written.
void warnOfTokenizerLeft(const ProcessOptions& options, const ModelWeights& model)
{
    const auto written = Tokenizer::open(options.folder);
    if (written || written.error().code != ErrorCode::NotFound || !openTokenizer(*options.model, model))
        return;
    const std::string& named = options.model->tokenizerFile;
    const std::string file = named.empty() ? model.file().fileOf(0).string() : named;
    printWarnings({fmt::format("The tokenizer stays in '{}' and is not in '{}'; name it with --tokenizer {}.",
                               file, options.folder, shellWord(file))});
}

/// Prints what became of each step.
void printProcessed(const ProcessOptions& options, const ProcessingPlan& plan,
                    const std::vector<std::string>& remarks)
{
    if (options.json) {
        nlohmann::ordered_json json{{"output", options.folder}};
        json["steps"] = nlohmann::ordered_json::array();
        for (const StepOutcome& step : plan.steps)
            json["steps"].push_back(
                {{"name", step.name}, {"applied", step.applied}, {"reason", step.reason}});
        json["remarks"] = remarks;
        return printJson(json);
    }
    for (const StepOutcome& step : plan.steps)
        std::cout << step.name << ": " << (step.applied ? "applied" : "skipped (" + step.reason + ")")
                  << '\n';
    for (const std::string& remark : remarks)
        std::cout << remark << ".\n";
    std::cout << "Wrote " << options.folder << ".\n";
}

Result<int> processModel(const ProcessOptions& options, const Task& task)
{
    if (options.folder.empty())
        return Error{ErrorCode::InvalidArgument, "The output folder has no name; name one, as in processed."};
    if (const Result<Done> writable =
            canReplaceFolder(options.folder, options.force ? Existing::Replace : Existing::Refuse);
        !writable)
        return writable.error();
    const std::string& tokenizer = options.model->tokenizerFile;
    if (!tokenizer.empty())
        if (const auto opened = Tokenizer::open(tokenizer); !opened)
            return opened.error();
    const auto output = outputOf(options, task);
    if (!output)
        return output.error();
    const std::shared_ptr<const ProcessedWeights>& weights = output->weights;
    // Writing reads every weight anyway, so checking costs nothing.
    const auto damaged = checkedAnswer(
        nonFiniteWarning(weights->original(), Task{task.stop, {}, task.threads}), weights->original().file());
    if (!damaged)
        return damaged.error();
    if (*damaged)
        printWarnings({**damaged});
    const bool original = options.names == "original";
    const auto write = original ? writeOriginalFolder : writeTransformerLensFolder;
    const auto written = write(*weights, {weights->original().file().folder(), tokenizer}, options.folder,
                               options.force ? ExistingFolder::Replace : ExistingFolder::Refuse, task);
    if (!written)
        return written.error();
    warnOfTokenizerLeft(options, weights->original());
    printProcessed(options, weights->plan(), output->remarks);
    return 0;
}

/// Tells the names to write from a names map. Errors: InvalidArgument where --names is neither, or is one of them twice.
Result<Done> takeNames(ProcessOptions& options)
{
    bool isLayoutGiven = false;
    for (const std::string& one : options.named) {
        const bool isLayout = one == "transformer-lens" || one == "original";
        if (!isLayout && !one.ends_with(".json"))
            return Error{ErrorCode::InvalidArgument,
                         "--names is transformer-lens, original or a names map, a .json file, not '" + one
                             + "'."};
        if (isLayout ? isLayoutGiven : !options.model->namesFile.empty())
            return Error{ErrorCode::InvalidArgument,
                         "--names is given twice for the same purpose; leave one out."};
        (isLayout ? options.names : options.model->namesFile) = one;
        isLayoutGiven |= isLayout;
    }
    return Done{};
}

} // namespace

void addProcessCommand(CLI::App& root, CommandContext& context)
{
    CLI::App* command = root.add_subcommand(
        "process", "Writes the processed weights as a TransformerLens folder, or in the model's own names");
    command->footer(
        "Steps that would change this model's function are skipped with a warning, or refused if they were asked\n"
        "for by name. With all four defaults negated the weights are written as they are.\n"
        "The folder appears complete or not at all. Numbers are float32, or float64 if the model's are.\n"
        "--names original: folded norms are written as identity, W_U apart from W_E; a norm whose bias has no\nplace in the family's layout stays unfolded, with one warning.\n"
        "--skipless: the model's counterpart without skip connections and norms, which computes another function. --merge then\n"
        "removes Q, K or V together with the output projection P by multiplying them into their neighbours, "
        "which keeps\n"
        "the counterpart's function (Graef, table 1); `run` and `verify` know such folders.");
    auto options = std::make_shared<ProcessOptions>();
    options->model = addModelArguments(*command);
    command->add_option("-o,--output", options->folder, "The output folder; it must be new or empty")
        ->required()
        ->type_name("FOLDER");
    command->add_flag("--force", options->force, "Replaces a model's files in a folder that is not empty");
    command->add_flag("--json", options->json, "Prints output, steps and remarks as JSON");
    command->remove_option(command->get_option("--names")); // which has two meanings here
    command
        ->add_option(
            "--names", options->named,
            "Names and layout of the tensors written: transformer-lens, or original for the model's own. Also takes a names map of the model, as other commands do")
        ->allow_extra_args(false)
        ->type_name("transformer-lens|original|MAP.json");
    command->add_flag("--skipless", options->skipless,
                      "Drops the skip connections and the norms; this changes the function");
    command
        ->add_option("--merge", options->merge,
                     "For a skipless model: merges Q, K or V and P into their neighbours")
        ->check(CLI::IsMember({"qp", "kp", "vp"}).description(""))
        ->type_name("qp|kp|vp");
    options->processing = addProcessingArguments(*command);
    addHeadChangeArguments(*command, options->processing);
    addThreadsOption(*command, context);
    command->callback([options, &context] {
        context.work = [options](const Task& task) -> Result<int> {
            if (const Result<Done> known = takeNames(*options); !known)
                return known.error();
            return processModel(*options, task);
        };
    });
}

} // namespace headwise::app
