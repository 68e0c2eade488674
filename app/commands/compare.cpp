#include "app/commands/filter_arguments.h"
#include "app/commands/input_arguments.h"
#include "app/commands/model_arguments.h"
#include "app/commands/support.h"
#include "app/commands/token_arguments.h"
#include "core/analysis/comparison/head_match.h"
#include "core/analysis/comparison/newer_model.h"
#include "core/checkpoint/model_cache.h"
#include "core/model/adapters/adapter.h"
#include "core/session/session_file.h"

#include <iostream>

namespace headwise::app {
namespace {

constexpr std::string_view compareFooter =
    "--config, --names, --set and --tokenizer apply to both models. Without --match both must have the same architecture.\n"
    "If MODEL_B is the folder of a LoRA adapter, MODEL_A is its base unless --base names another; --adapter-scale applies to it.\n"
    "The session is about MODEL_A; /comparison holds, for every head, how far W_QK and W_OV moved and "
    "turned, how much of\n"
    "what the head reads and writes stayed, the singular values of both, the best match of each of B's first ten singular\n"
    "directions among A's (below 0.5: an intruder dimension, Shuttleworth et al., arXiv 2410.21228) and, for equal\n"
    "vocabularies, the share of top tokens of full OV that left, among the tokens of MODEL_A that the options under Tokens\nkeep. The file is described in "
    "core/session/FORMAT.md.\n"
    "With --match the models may differ in size, kind and vocabulary: /comparison/match holds, for every "
    "head of A, the head of\n"
    "B whose largest outputs of the same tokens agree best, that agreement with its random baseline, and that of "
    "every pair.\n"
    "\n"
    "Exit codes: 0 good, 2 wrong usage or models of different kind or size, 3 bad model, 4 input/output or memory,\n"
    "130 cancelled.";

struct CompareOptions {
    ModelArguments a, b;
    /// Shared arguments of both models, except the path.
    std::shared_ptr<ModelArguments> both = std::make_shared<ModelArguments>();
    std::shared_ptr<ProcessingArguments> processing;
    std::shared_ptr<TokenFilter> filter;
    std::optional<std::string> tokenCounts;
    std::string output;
    bool isMatch = false; ///< Compares models of any size and kind.
};

Result<ResultSet> found(const CompareOptions& options, const OpenedModel& a, const OpenedModel& b,
                        const Task& task)
{
    const Circuits older(a.weights), newer(b.weights);
    ComparisonOptions comparison;
    auto leftOut = leftOutTokens(*options.filter, options.tokenCounts, a.tokenizer, *a.weights, task);
    if (!leftOut)
        return leftOut.error();
    comparison.unusedTokens = std::move(leftOut).value();
    if (options.isMatch)
        return matchHeads({older, a.words(), comparison.unusedTokens},
                          {newer, b.words(), unusedTokens(b.tokenizer, newer.config().dVocab)}, comparison,
                          task);
    comparison.sameVocabulary = haveSameVocabulary(a.words(), b.words(), older.config().dVocab);
    return compareModels(older, newer, comparison, task);
}

bool isAdapterOf(const ModelArguments& model)
{
    const auto path = modelPath(model.path, model.revision);
    return path && isAdapter(*path);
}

/// --base is that of adapters alone; the older model is the base of a newer one that is an adapter.
void giveBases(ModelArguments& a, ModelArguments& b)
{
    const bool isOlderAdapter = isAdapterOf(a), isNewerAdapter = isAdapterOf(b);
    if (isNewerAdapter && !isOlderAdapter && b.base.empty())
        b.base = a.path;
    if (isOlderAdapter == isNewerAdapter)
        return; // neither: --base is refused
    ModelArguments& model = isOlderAdapter ? b : a;
    model.base.clear();
    model.adapterStrength = 1;
}

Result<int> compare(CompareOptions options, const Task& task)
{
    for (ModelArguments* model : {&options.a, &options.b}) {
        std::string path = std::move(model->path);
        *model = *options.both;
        model->path = std::move(path);
    }
    giveBases(options.a, options.b);
    if (const auto writable = checkSessionPath(options.output); !writable)
        return writable.error();
    const auto sourceOfB = options.b.source();
    if (!sourceOfB)
        return sourceOfB.error();
    const auto a = openWithTokenizer(options.a, *options.processing, task);
    if (!a)
        return a.error();
    const auto b = openWithTokenizer(options.b, *options.processing, task);
    if (!b)
        return b.error();
    auto answer = checkedAnswer(checkedAnswer(found(options, *a, *b, task), a->weights->original().file()),
                                b->weights->original().file());
    if (!answer)
        return answer.error();
    ResultSet results = std::move(answer).value();
    printWarnings(results.warnings);
    const ProcessedWeights& newer = *b->weights;
    std::vector<std::string> warnings = newer.original().warnings();
    warnings.insert(warnings.end(), newer.plan().warnings.begin(), newer.plan().warnings.end());
    auto attributes = attributesOfNewer(newer.original(), *sourceOfB);
    attributes["model_b_warnings"] = warnings;
    if (options.filter->isOn())
        attributes["token_filter"] = filterName(*options.filter);
    const std::string nameOfB = std::get<std::string>(attributes["model_b_name"]);
    results.groupAttributes["comparison"] = std::move(attributes);
    const std::size_t arrays = results.arrays.size();
    const Session session = makeSession(*a->weights, "raw", a->words(), std::move(results));
    if (const auto written = writeSession(options.output, session, task); !written)
        return written.error();
    std::cout << "Wrote " << options.output << " with " << arrays << " arrays about what "
              << (options.isMatch ? "the heads share in " : "changed from ") << session.model.name
              << (options.isMatch ? " and " : " to ") << nameOfB << ".\n";
    return 0;
}

} // namespace

void addCompareCommand(CLI::App& root, CommandContext& context)
{
    auto options = std::make_shared<CompareOptions>();
    CLI::App* command =
        root.add_subcommand("compare", "Compares every head of two checkpoints of one architecture");
    command->footer(std::string(compareFooter));
    command->add_option("MODEL_A", options->a.path, "The older model")->required()->type_name("");
    command->add_option("MODEL_B", options->b.path, "The newer one")->required()->type_name("");
    command->add_option("-o,--output", options->output, "The session file to write (HDF5)")
        ->required()
        ->type_name("SESSION.h5");
    addModelFiles(*command, *options->both);
    command->add_flag("--match", options->isMatch,
                      "Matches the heads of two models of any size, kind and vocabulary by what they write");
    options->filter = addFilterArguments(*command);
    addTokenCountsOption(*command, options->tokenCounts);
    options->processing = addProcessingArguments(*command);
    addThreadsOption(*command, context);
    command->callback([options, &context] {
        context.work = [options](const Task& task) { return compare(*options, task); };
    });
}

} // namespace headwise::app
