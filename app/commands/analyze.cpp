#include "app/commands/filter_arguments.h"
#include "app/commands/input_arguments.h"
#include "app/commands/model_arguments.h"
#include "app/commands/support.h"
#include "app/commands/token_arguments.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/runs/queue.h"
#include "core/session/partial_run.h"
#include "core/session/self_contained.h"
#include "core/session/session_addition.h"
#include "core/session/session_file.h"

#include <spdlog/fmt/fmt.h>
#include <spdlog/logger.h>

#include <algorithm>
#include <iostream>

namespace headwise::app {
namespace {

constexpr std::string_view analyzeFooter =
    "Without --analyses: spectra, eigenvalues, copying, matching, previous_token and composition, and tables where\n"
    "heads * d_vocab^2 * d_head is at most 2e11. An analysis that does not apply to the model is left out with a\n"
    "warning. Heads you did not ask for are NaN. Ids without a token, and tokens removed by the\noptions under Tokens, appear in no table, rank or search. Spectra, eigenvalues and norms include them. The file is described in core/session/FORMAT.md.\n"
    "A run of more than a minute first says roughly how long it will take. headwise list-analyses MODEL says so for each\nanalysis. A run that needs more memory than is free is refused before it starts.\n"
    "Results so far are kept in SESSION.h5.partial until the session is written: the same command resumes a killed\nrun where it stopped.\n"
    "An existing SESSION.h5 keeps its notes, bookmarks, view and other results; an analysis computed again "
    "replaces\nits earlier numbers. A session of another model, or computed with other switches, --embedding or --precision,\nis refused; --replace starts over.\n"
    "--shard 2/8 computes the second of eight parts of a run, each its own process, on any machine; headwise merge\njoins them. spectra, ranks, eigenvalues, copying, matching, composition, tables and singular_tokens are split by\n"
    "heads (composition by the later head of a pair); one part computes each other analysis whole,\nand every part computes the baselines of the split ones. The copies of --self-contained are in part 1. Every part needs the same options.\n"
    "It cannot be combined with --one-end, whose pairs belong to no single head.\n"
    "\n"
    "Exit codes: 0 good, 2 wrong usage, 3 bad model, 4 input/output or memory, 130 cancelled.";

struct AnalyzeOptions {
    std::shared_ptr<ModelArguments> model;
    std::shared_ptr<ProcessingArguments> processing;
    std::shared_ptr<Precision> precision;
    std::shared_ptr<InputArguments> inputs;
    std::shared_ptr<TokenFilter> filter;
    std::string output;
    std::optional<std::string> analyses, heads; ///< Absent: the default analyses, all heads.
    std::optional<std::string> shard;           ///< "2/8"
    std::string embedding = "raw";
    int tableSize = 10;
    bool selfContained = false, oneEnd = false, replace = false;
};

/// Announces a run that takes longer than a minute, unless it is refused.
void announce(const std::vector<const Analysis*>& chosen, const ModelConfig& config,
              const AnalysisOptions& options, const Task& task)
{
    const RunEstimate estimate = estimateRun(chosen, config, options);
    const std::string notice = longRunNotice(estimate, coresOf(task.threads));
    const auto free = availableMemory();
    if (!notice.empty() && (!free || whyTooLarge(estimate, *free).empty()))
        printWarnings(
            {notice
             + " Fewer heads (--heads) or fewer analyses take less, and Ctrl-C stops it without a file."});
}

/// Names the analyses that an earlier run of the same command left, which are not computed again.
/// \returns the rest of `chosen`
std::vector<const Analysis*> takenUp(const std::vector<const Analysis*>& chosen, Resume& resume,
                                     const Task& task)
{
    const std::vector<std::string> known = resume.takeUp(task);
    std::vector<const Analysis*> left;
    std::string names;
    for (const Analysis* analysis : chosen) {
        if (std::find(known.begin(), known.end(), analysis->id) == known.end())
            left.push_back(analysis);
        else
            names += (names.empty() ? "" : ", ") + std::string(analysis->id);
    }
    if (!names.empty()) {
        const std::string sentence =
            "An interrupted earlier run has computed " + names + "; this run reuses them.";
        logger().info("{}", sentence);
        printWarnings({sentence});
    }
    return left;
}

using ChosenAnalyses = std::vector<const Analysis*>;

/// Restricts a run to its shard: chooses the shard's analyses, sets `share`, and marks the session as a part.
Result<ChosenAnalyses> chooseAnalyses(const AnalyzeOptions& options, const ModelConfig& config,
                                      AnalysisOptions& analysisOptions, Session& session)
{
    auto chosen =
        options.analyses ? parseAnalyses(*options.analyses) : defaultAnalyses(config, analysisOptions);
    if (!chosen || !options.shard)
        return chosen;
    const auto shard = parseShard(*options.shard);
    if (!shard)
        return shard.error();
    const std::vector<HeadId> heads = headsOfShard(*shard, config, analysisOptions);
    session.part = SessionPart{*shard, runDigest(*chosen, analysisOptions), {}};
    for (const HeadId head : heads)
        session.part->heads.push_back(dottedHead(head));
    ChosenAnalyses own = analysesOfShard(*shard, *chosen, config, analysisOptions);
    analysisOptions.share = heads;
    return own;
}

/// One run of `analyze`, ready to start.
struct ReadyRun {
    const Circuits& circuits;
    const ChosenAnalyses& chosen;
    const AnalysisOptions& options;
    bool isSelfContained = false;
};

Result<ResultSet> computed(const ReadyRun& run, Resume& resume, const Task& task)
{
    announce(takenUp(run.chosen, resume, task), run.circuits.config(), run.options, task);
    auto results = runAnalyses(run.circuits, run.chosen, run.options, task, &resume);
    if (!results || !run.isSelfContained)
        return results;
    auto copies = selfContained(run.circuits, run.options.precision, task);
    if (!copies)
        return copies.error();
    ResultSet all = std::move(results).value();
    all.merge(std::move(copies).value());
    return all;
}

bool isThere(const std::string& output)
{
    std::error_code code;
    return std::filesystem::is_regular_file(output, code) && std::filesystem::file_size(output, code) > 0;
}

/// Returns `run` merged into the session file; unchanged if there is no file or with --replace.
/// Errors: InvalidArgument if the two do not belong together; those of readSession.
Result<Session> withStored(const AnalyzeOptions& options, Session run, const Task& task)
{
    if (options.replace || !isThere(options.output))
        return run;
    Result<Session> stored = readSession(options.output, Task{task.stop, {}, task.threads});
    if (!stored) {
        if (stored.error().code == ErrorCode::Cancelled)
            return stored.error();
        return Error{stored.error().code, stored.error().message + " To overwrite it, pass --replace."};
    }
    const std::string why = stored->formatVersion > sessionFormatVersion
        ? "was written by a later version of Headwise"
        : whyNotAdded(*stored, run, *options.precision);
    if (!why.empty())
        return Error{ErrorCode::InvalidArgument,
                     "Session '" + options.output + "' " + why
                         + "; name another output file, or pass --replace to start it over."};
    return added(std::move(stored).value(), std::move(run));
}

/// Checks before hours of work that the results can be added to the session and are about the same weights.
Result<Done> checkStored(const AnalyzeOptions& options, const Session& run, const WeightMap& weights,
                         const Task& task)
{
    const auto whole = withStored(options, run, task);
    if (!whole)
        return whole.error();
    if (const auto file = changedSince(*whole, weights); !file.empty())
        printWarnings({fmt::format(
            "{} is newer than the session '{}'; if its weights have changed, pass --replace to start the session over.",
            file.string(), options.output)});
    return Done{};
}

/// Reads the options that the analyses see.
Result<AnalysisOptions> analysisOptionsOf(const AnalyzeOptions& options, const ProcessedWeights& weights,
                                          const std::optional<Tokenizer>& tokenizer, const Task& task)
{
    const ModelConfig& config = weights.config();
    AnalysisOptions read;
    read.embedding = *parseEmbedding(options.embedding);
    read.precision = *options.precision;
    read.tableSize = options.tableSize;
    if (options.heads) {
        const auto heads = parseHeads(*options.heads, config.nLayers, config.nHeads);
        if (!heads)
            return heads.error();
        read.heads = *heads;
        read.oneEndIsEnough = options.oneEnd;
    }
    auto inputs = analysisInputs(*options.inputs, *options.model, weights, tokenizer);
    if (!inputs)
        return inputs.error();
    read.inputs = std::move(inputs).value();
    TokenFilter filter = *options.filter;
    filter.counts = filter.lowestCount > 0 ? read.inputs.tokenCounts : nullptr;
    auto unused = leftOutTokens(filter, tokenizer, weights, config.dVocab, task);
    if (!unused)
        return unused.error();
    read.unusedTokens = std::move(unused).value();
    return read;
}

Result<int> analyze(const AnalyzeOptions& options, const Task& task)
{
    if (options.shard)
        if (const auto shard = parseShard(*options.shard); !shard)
            return shard.error();
    if (const auto writable = checkSessionPath(options.output); !writable)
        return writable.error();
    const auto opened = openWithTokenizer(*options.model, *options.processing, task);
    if (!opened)
        return opened.error();
    const Circuits circuits(opened->weights);
    auto read = analysisOptionsOf(options, *opened->weights, opened->tokenizer, task);
    if (!read)
        return read.error();
    AnalysisOptions analysisOptions = std::move(read).value();
    Session session = makeSession(*opened->weights, options.embedding, opened->words(), {});
    if (const auto source = options.model->source())
        setConfigSource(session, *source);
    const auto chosen = chooseAnalyses(options, circuits.config(), analysisOptions, session);
    if (!chosen)
        return chosen.error();
    if (const auto belongs = checkStored(options, session, opened->weights->original().file(), task);
        !belongs)
        return belongs.error();
    PartialRun partial(options.output, session);
    Resume resume(partial, runQuestion(*opened->weights, session.configFile, analysisOptions));
    // One part holds the copies of the whole run.
    const bool isSelfContained = options.selfContained && (!session.part || session.part->shard.index == 1);
    auto found = checkedAnswer(computed({circuits, *chosen, analysisOptions, isSelfContained}, resume, task),
                               opened->weights->original().file());
    if (!found)
        return found.error();
    ResultSet results = std::move(found).value();
    printWarnings(results.warnings);
    markFilter(results, *options.filter);
    const std::size_t arrays = results.arrays.size();
    addResults(session, std::move(results));
    // Reads the session again, because notes may have been written during a long run.
    const auto whole = withStored(options, std::move(session), task);
    if (!whole)
        return whole.error();
    if (const auto written = writeSession(options.output, *whole, task); !written)
        return written.error();
    partial.remove();
    std::cout << "Wrote " << options.output << " with " << arrays << " arrays about " << whole->model.name
              << ".\n";
    return 0;
}

} // namespace

void addAnalyzeCommand(CLI::App& root, CommandContext& context)
{
    auto options = std::make_shared<AnalyzeOptions>();
    CLI::App* command =
        root.add_subcommand("analyze", "Computes analyses of a model and saves them as a session");
    command->footer(std::string(analyzeFooter));
    options->model = addModelArguments(*command);
    command->add_option("-o,--output", options->output, "The session file to write (HDF5)")
        ->required()
        ->type_name("SESSION.h5");
    command->add_flag("--replace", options->replace, "Start SESSION.h5 over instead of adding to it");
    CLI::Option* shard =
        command
            ->add_option("--shard", options->shard,
                         "Compute part i of a run in n processes; headwise merge joins the parts")
            ->type_name("i/n");
    options->processing = addProcessingArguments(*command);
    addHeadChangeArguments(*command, options->processing);
    command
        ->add_option("--analyses", options->analyses,
                     "Analyses to compute, by their names in headwise list-analyses, or all")
        ->type_name("a,b,...|all");
    CLI::Option* heads =
        command->add_option("--heads", options->heads, "Heads to compute, as in 0.1,2.*; default: all")
            ->type_name("L.H,...");
    command
        ->add_flag("--one-end", options->oneEnd,
                   "For composition: include pairs in which only one head is in --heads")
        ->needs(heads)
        ->excludes(shard);
    command
        ->add_option("--embedding", options->embedding,
                     "The token vectors E of full circuits: raw (the default), effective, mlp0 or unembed")
        ->check(CLI::IsMember({"raw", "effective", "mlp0", "unembed"}).description(""))
        ->type_name("raw|effective|mlp0|unembed");
    options->inputs = addInputArguments(*command);
    options->filter = addFilterArguments(*command);
    options->precision = addPrecisionOption(*command);
    addThreadsOption(*command, context);
    command->add_option("-k", options->tableSize, "Entries per row of the token tables (default 10)")
        ->check(CLI::Range(1, 1000000).description(""))
        ->type_name("N");
    command->add_flag(
        "--self-contained", options->selfContained,
        "Also save every head's factors, W_E and W_U, so that the session answers for any token");
    command->callback([options, &context] {
        context.work = [options](const Task& task) { return analyze(*options, task); };
    });
}

} // namespace headwise::app
