#include "app/commands/analysis_run/rank_run.h"
#include "app/commands/analysis_run/series_json.h"
#include "app/commands/input_arguments.h"
#include "app/commands/support.h"
#include "app/commands/token_arguments.h"
#include "core/runs/plan.h"
#include "core/series/series_request.h"

#include <nlohmann/json.hpp>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <set>

namespace headwise::app {
namespace {

constexpr std::string_view seriesFooter =
    "FOLDER holds the checkpoints of one training run: sub-folders or weights files whose names have a number after \"step\"\n"
    "(step1000, step1000-tokens4B, epoch=3-step=1000.ckpt) or at their end (checkpoint-500, epoch_3, model_000512.safetensors).\n"
    "A config or tokenizer in FOLDER itself serves members without one.\n"
    "For a model in the Hugging Face cache, its revisions with such a branch or tag are the checkpoints.\n"
    "Without --analyses: spectra with norms and ranks, copying, matching, previous_token, and pattern_scores (induction) up\n"
    "to 2e12 operations a member. SERIES.h5 holds /steps, /scores/NAME [step, layer, head] and the singular values in\n"
    "/spectra; core/session/FORMAT.md describes it. Damaged members and members of another shape are skipped with a warning,\n"
    "and their numbers are NaN.\n"
    "One model at a time is in memory. The same command resumes a killed run, and an existing SERIES.h5\n"
    "gains new checkpoints only; --replace starts over. --shard 2/8 computes every eighth member from the second on, and\n"
    "headwise merge joins the parts. mpirun -n 8 headwise series FOLDER -o SERIES.h5 does both in one command, if Headwise was\n"
    "built where Open MPI is installed; srun --mpi=pmix too. If one process ends early, all do, and the same command goes on\n"
    "with their parts, SERIES.h5.rank-2-of-8.partial.\n"
    "At the end it lists the changes in the order of steps: where a head's score rose clearly above its null and stayed, or\n"
    "fell back below half of that after two such steps. Clearly means 0.3 above the null (previous_token: and at least 0.4) and,\n"
    "where the spread of random heads is known, at least 5 deviations, corrected for the number of heads and steps.\n"
    "\n"
    "Exit codes: 0 good, 2 wrong usage, 3 no checkpoint can be read, 4 input/output or memory, 130 cancelled.";

struct SeriesOptions {
    std::string folder, output;
    ModelArguments files; ///< Its path is that of a member.
    std::shared_ptr<ProcessingArguments> processing;
    std::shared_ptr<InputArguments> inputs;
    std::optional<std::string> analyses, shard;
    std::string embedding = "raw";
    bool replace = false, json = false;
    std::string given; ///< The options that the numbers depend on, as given.
};

/// Returns the options on the command line but those that do not change the numbers.
std::string givenOptions(const CLI::App& command)
{
    static constexpr std::array others{"FOLDER", "--output",  "--replace", "--shard",
                                       "--json", "--threads", "--analyses"};
    std::string text;
    for (const CLI::Option* option : command.get_options()) {
        const std::string name = option->get_name();
        if (option->count() == 0 || std::ranges::find(others, name) != others.end())
            continue;
        text += (text.empty() ? "" : " ") + name;
        for (const std::string& value : option->results())
            text += "=" + shellWord(value);
    }
    return text;
}

ModelArguments argumentsOf(const SeriesOptions& options, const SeriesMember& member)
{
    ModelArguments arguments = options.files;
    arguments.path = member.path.string();
    if (arguments.configFile.empty())
        arguments.configFile = member.config.string();
    if (arguments.tokenizerFile.empty())
        arguments.tokenizerFile = member.tokenizer.string();
    return arguments;
}

Result<SeriesModel> preparedMember(const SeriesOptions& options, const SeriesMember& member,
                                   std::shared_ptr<const ModelWeights> weights, const Task& task)
{
    const ModelArguments arguments = argumentsOf(options, member);
    const auto tokenizer = findTokenizer(arguments, *weights);
    if (!tokenizer)
        return tokenizer.error();
    auto prepared = seriesModel(std::move(weights), options.processing->wish(),
                                *tokenizer ? &**tokenizer : nullptr, task);
    if (!prepared)
        return prepared.error();
    SeriesModel model = std::move(prepared).value();
    model.options.embedding = *parseEmbedding(options.embedding);
    auto inputs = analysisInputs(*options.inputs, arguments, *model.weights, *tokenizer);
    if (!inputs)
        return inputs.error();
    model.options.inputs = std::move(inputs).value();
    return model;
}

Result<SeriesRequest> requestOf(const SeriesOptions& options)
{
    SeriesRequest request;
    if (!options.files.revision.empty())
        return Error{ErrorCode::InvalidArgument,
                     "--revision names one checkpoint, but a series takes all of them; leave it out."};
    if (options.shard) {
        const auto shard = parseShard(*options.shard);
        if (!shard)
            return shard.error();
        request.shard = *shard;
    }
    if (options.analyses) {
        auto analyses = parseAnalyses(*options.analyses);
        if (!analyses)
            return analyses.error();
        request.analyses = std::move(analyses).value();
    }
    if (const auto writable = checkSessionPath(options.output); !writable)
        return writable.error();
    auto series = seriesMembers(options.folder);
    if (!series)
        return series.error();
    request.series = std::move(series).value();
    request.output = options.output;
    request.options = options.given;
    request.replace = options.replace;
    request.open = [&options](const SeriesMember& member,
                              const Task& task) -> Result<std::shared_ptr<const ModelWeights>> {
        const auto source = argumentsOf(options, member).source();
        return source ? loadModel(*source, task) : source.error();
    };
    request.prepare = [&options](const SeriesMember& member, std::shared_ptr<const ModelWeights> weights,
                                 const Task& task) {
        return preparedMember(options, member, std::move(weights), task);
    };
    request.say = [](const std::string& sentence) { printWarnings({sentence}); };
    return request;
}

void printSeries(const SeriesOptions& options, const SeriesOutcome& outcome)
{
    const Series& series = outcome.series;
    if (options.json)
        return printJson(seriesJson(series));
    for (const SeriesChange& change : series.changes)
        std::cout << change.text << "\n";
    if (series.changes.empty() && !options.shard)
        std::cout << "No head rose clearly above its null or fell back between these steps.\n";
    const auto skipped =
        std::ranges::count_if(series.problems, [](const std::string& problem) { return !problem.empty(); });
    std::cout << fmt::format("Wrote {} with {} scores at {} steps of {}{}{}.\n", options.output,
                             series.scores.size(), series.steps.size(), series.modelName,
                             outcome.kept > 0 ? fmt::format(", {} of them kept", outcome.kept) : "",
                             skipped > 0 ? fmt::format(", {} skipped", skipped) : "");
}

/// A run of this process alone: the whole series, or a part of it with --shard.
Result<int> seriesAlone(const SeriesOptions& options, const Task& task)
{
    const auto request = requestOf(options);
    if (!request)
        return request.error();
    const auto outcome = computeSeries(*request, task);
    if (!outcome)
        return outcome.error();
    printSeries(options, *outcome);
    return 0;
}

/// The members of this process in a run of several, whose parts the first of them joins.
class RankSeries final : public RankPart {
public:
    RankSeries(const SeriesOptions& options, const Shard& shard)
        : m_options(options)
        , m_shard(shard)
    {
    }

    Result<Done> prepare(const Task& task) override
    {
        auto request = requestOf(m_options);
        if (!request)
            return request.error();
        m_request = std::move(request).value();
        const std::size_t members = m_request.series.members.size();
        if (members < static_cast<std::size_t>(m_shard.count))
            return Error{ErrorCode::InvalidArgument,
                         fmt::format("'{}' has {} checkpoints for {} processes; start at most {}.",
                                     m_options.folder, members, m_shard.count, members)};
        m_request.shard = m_shard;
        m_request.isJoined = true;
        m_request.say = [this](const std::string& sentence) {
            if (m_said.insert(sentence).second)
                printWarnings({sentence});
        };
        return checkSeries(m_request, task);
    }

    Result<Done> compute(const Task& task) override
    {
        const auto outcome = computeSeries(m_request, task);
        return outcome ? Result<Done>(Done{}) : outcome.error();
    }

    Result<Done> join(const Task& task) const override
    {
        auto series = joinSeries(m_request, task);
        if (!series)
            return series.error();
        printSeries(m_options, {std::move(series).value()});
        return Done{};
    }

private:
    const SeriesOptions& m_options;
    Shard m_shard;
    SeriesRequest m_request;
    std::set<std::string> m_said; // by this process
};

Result<int> runSeries(const SeriesOptions& options, const Task& task)
{
    const auto launch = options.shard ? std::nullopt : launchHere();
    if (!launch)
        return seriesAlone(options, task);
    const auto part = [&](const Ranks& ranks) {
        return std::make_unique<RankSeries>(options, ranks.shard());
    };
    return runInRanks(*launch, part, task);
}

void addSeriesOptions(CLI::App& command, SeriesOptions& options)
{
    command
        .add_option("FOLDER", options.folder,
                    "A folder of checkpoints, or the name of a model in the Hugging Face cache")
        ->required()
        ->type_name("");
    command.add_option("-o,--output", options.output, "The file to write (HDF5)")
        ->required()
        ->type_name("SERIES.h5");
    command.add_flag("--replace", options.replace, "Starts SERIES.h5 over instead of adding to it");
    command
        .add_option("--shard", options.shard,
                    "Computes every n-th member from the i-th on; headwise merge joins the parts")
        ->type_name("i/n");
    command.add_flag("--json", options.json, "Prints the steps and the changes as JSON");
    addModelFiles(command, options.files);
    command
        .add_option("--analyses", options.analyses,
                    "Analyses to compute, by their names in headwise list-analyses, or all")
        ->type_name("a,b,...|all");
    command
        .add_option("--embedding", options.embedding,
                    "The token vectors E of full circuits: raw (the default), effective, mlp0 or unembed")
        ->check(CLI::IsMember({"raw", "effective", "mlp0", "unembed"}).description(""))
        ->type_name("raw|effective|mlp0|unembed");
}

} // namespace

void addSeriesCommand(CLI::App& root, CommandContext& context)
{
    auto options = std::make_shared<SeriesOptions>();
    CLI::App* command = root.add_subcommand(
        "series", "Follows every head's scores and spectra through the checkpoints of a training run");
    command->footer(std::string(seriesFooter));
    addSeriesOptions(*command, *options);
    options->processing = addProcessingArguments(*command);
    options->inputs = addInputArguments(*command);
    addThreadsOption(*command, context);
    command->callback([options, command, &context] {
        options->given = givenOptions(*command);
        context.work = [options](const Task& task) { return runSeries(*options, task); };
    });
}

} // namespace headwise::app
