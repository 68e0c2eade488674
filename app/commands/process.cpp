#include "app/commands/model_arguments.h"
#include "app/commands/support.h"
#include "core/model/checkpoint_writer.h"

#include <iostream>

namespace headwise::app {

namespace {

struct Options {
    std::shared_ptr<ModelArguments> model;
    std::shared_ptr<ProcessingArguments> processing;
    std::string folder;
    std::string names = "transformer-lens";
    bool force = false;
};

Result<int> processModel(const Options& options, const Task& task)
{
    const bool original = options.names == "original";
    const auto weights = openProcessed(*options.model, *options.processing, task,
                                       original ? BiasHomes::AsStored : BiasHomes::Anywhere);
    if (!weights)
        return weights.error();
    const auto write = original ? writeOriginalFolder : writeTransformerLensFolder;
    const auto written = write(**weights, (*weights)->original().file().folder(), options.folder,
                               options.force ? ExistingFolder::Replace : ExistingFolder::Refuse, task);
    if (!written)
        return written.error();
    for (const StepOutcome& step : (*weights)->plan().steps)
        std::cout << step.name << ": " << (step.applied ? "applied" : "skipped (" + step.reason + ")")
                  << '\n';
    std::cout << "Wrote " << options.folder << ".\n";
    return 0;
}

} // namespace

void addProcessCommand(CLI::App& root, CommandContext& context)
{
    CLI::App* command = root.add_subcommand(
        "process", "Writes the processed weights as a TransformerLens folder, or in the model's own names");
    command->footer(
        "Steps that would change this model's function are skipped with a warning, or refused if "
        "they were asked\n"
        "for by name. With all four defaults negated the weights are written as they are.\n"
        "The folder appears complete or not at all. float32, or float64 if the model is.\n"
        "--names original: folded norms are written as identity, W_U apart from W_E; a norm whose bias "
        "has no\n"
        "home in the family's layout stays unfolded, with one warning.");
    auto options = std::make_shared<Options>();
    options->model = addModelArguments(*command);
    command->add_option("-o,--output", options->folder, "The folder to write; it must be new or empty")
        ->required()
        ->type_name("FOLDER");
    command->add_flag("--force", options->force,
                      "Replaces the files of a model in a folder that is not empty");
    command
        ->add_option("--names", options->names,
                     "Names and layout of the tensors: transformer-lens, or original for the model's own")
        ->check(CLI::IsMember({"transformer-lens", "original"}))
        ->type_name("NAMES");
    options->processing = addProcessingArguments(*command);
    addThreadsOption(*command, context);
    command->callback([options, &context] {
        context.work = [options](const Task& task) { return processModel(*options, task); };
    });
}

} // namespace headwise::app
