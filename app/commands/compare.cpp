#include "app/commands/filter_arguments.h"
#include "app/commands/head_arguments.h"
#include "app/commands/input_arguments.h"
#include "app/commands/model_arguments.h"
#include "app/commands/support.h"
#include "core/analysis/comparison/model_comparison.h"
#include "core/session/session_file.h"

#include <iostream>

namespace headwise::app {
namespace {

constexpr std::string_view footer =
    "--config, --set and --tokenizer are for both models, which are of one architecture.\n"
    "The session is about MODEL_A; /comparison holds, for every head, how far W_QK and W_OV moved and "
    "turned, "
    "how much of\n"
    "what the head reads and writes stayed, the singular values of both, the best match of each of B's first "
    "ten singular\n"
    "directions among A's (below 0.5: an intruder dimension, Shuttleworth et al., arXiv 2410.21228) and, for "
    "equal\n"
    "vocabularies, the share of top tokens of full OV that left, of the tokens of MODEL_A that the options "
    "under Tokens\nleave in. The file is described in "
    "core/session/FORMAT.md.\n"
    "\n"
    "Exit codes: 0 good, 2 wrong usage or models of different kind or size, 3 bad model, 4 input/output or "
    "memory,\n"
    "130 cancelled.";

struct Options {
    ModelArguments a, b;
    std::shared_ptr<ModelArguments> both = std::make_shared<ModelArguments>(); ///< All but their paths.
    std::shared_ptr<ProcessingArguments> processing;
    std::shared_ptr<TokenFilter> filter;
    std::optional<std::string> tokenCounts;
    std::string output;
};

Result<int> compare(Options options, const Task& task)
{
    for (ModelArguments* model : {&options.a, &options.b}) {
        std::string path = std::move(model->path);
        *model = *options.both;
        model->path = std::move(path);
    }
    if (const auto writable = checkSessionPath(options.output); !writable)
        return writable.error();
    const auto a = openProcessed(options.a, *options.processing, task);
    if (!a)
        return a.error();
    const auto b = openProcessed(options.b, *options.processing, task);
    if (!b)
        return b.error();
    const auto tokenizerA = tokenizerOf(options.a, (*a)->original());
    if (!tokenizerA)
        return tokenizerA.error();
    const auto tokenizerB = tokenizerOf(options.b, (*b)->original());
    if (!tokenizerB)
        return tokenizerB.error();
    ComparisonOptions comparison;
    auto unused = leftOutTokens(*options.filter, options.tokenCounts, *tokenizerA, **a, task);
    if (!unused)
        return unused.error();
    comparison.unusedTokens = std::move(unused).value();
    comparison.sameVocabulary = haveSameVocabulary(
        *tokenizerA ? &**tokenizerA : nullptr, *tokenizerB ? &**tokenizerB : nullptr, (*a)->config().dVocab);
    auto found = compareModels(Circuits(*a), Circuits(*b), comparison, task);
    if (!found)
        return found.error();
    ResultSet results = std::move(found).value();
    printWarnings(results.warnings);
    const ModelCard card = modelCard((*b)->original());
    std::vector<std::string> warnings = (*b)->original().warnings();
    warnings.insert(warnings.end(), (*b)->plan().warnings.begin(), (*b)->plan().warnings.end());
    results.groupAttributes["comparison"] = {{"model_b_name", card.name},
                                             {"model_b_architecture", card.architecture},
                                             {"model_b_source", card.source},
                                             {"model_b_sha256", card.sha256},
                                             {"model_b_warnings", warnings}};
    if (options.filter->isOn())
        results.groupAttributes["comparison"]["token_filter"] = filterName(*options.filter);
    const std::size_t arrays = results.arrays.size();
    const Session session =
        makeSession(**a, "raw", *tokenizerA ? &**tokenizerA : nullptr, std::move(results));
    if (const auto written = writeSession(options.output, session, task); !written)
        return written.error();
    std::cout << "Wrote " << options.output << " with " << arrays << " arrays about what changed from "
              << session.model.name << " to " << card.name << ".\n";
    return 0;
}

} // namespace

void addCompareCommand(CLI::App& root, CommandContext& context)
{
    auto options = std::make_shared<Options>();
    CLI::App* command =
        root.add_subcommand("compare", "Compare every head of two checkpoints of one architecture");
    command->footer(std::string(footer));
    command->add_option("MODEL_A", options->a.path, "The older model")->required()->type_name("");
    command->add_option("MODEL_B", options->b.path, "The newer one")->required()->type_name("");
    command->add_option("-o,--output", options->output, "The session file to write (HDF5)")
        ->required()
        ->type_name("SESSION.h5");
    addModelFiles(*command, *options->both);
    options->filter = addFilterArguments(*command);
    addTokenCountsOption(*command, options->tokenCounts);
    options->processing = addProcessingArguments(*command);
    addThreadsOption(*command, context);
    command->callback([options, &context] {
        context.work = [options](const Task& task) { return compare(*options, task); };
    });
}

} // namespace headwise::app
