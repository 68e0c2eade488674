#include "app/commands/analysis_run/rank_run.h"
#include "app/commands/analysis_run/run_report.h"
#include "app/commands/analysis_run/session_target.h"
#include "app/commands/filter_arguments.h"
#include "app/commands/input_arguments.h"
#include "app/commands/model_arguments.h"
#include "app/commands/progress.h"
#include "app/commands/support.h"
#include "app/commands/token_arguments.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/runs/queue.h"
#include "core/session/partial_run.h"
#include "core/session/self_contained.h"
#include "core/session/session_merge.h"

#include <spdlog/fmt/fmt.h>

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
    "replaces\nits earlier numbers. A session of another model, or computed with other processing, --embedding or --precision,\nis refused; --replace starts over.\n"
    "--shard 2/8 computes the second of eight parts of a run, each its own process, on any machine; headwise merge\njoins them. spectra, ranks, eigenvalues, copying, matching, previous_token, composition, tables and singular_tokens\nare split by "
    "heads (composition by the later head of a pair); one part computes each other analysis whole,\nand every part computes the baselines of the split ones. The copies of --self-contained are in part 1. Every part needs the same options.\n"
    "It cannot be combined with --one-end, whose pairs belong to no single head.\n"
    "mpirun -n 8 headwise analyze MODEL -o SESSION.h5 does both in one command, if Headwise was built where Open MPI is\ninstalled; srun --mpi=pmix too. The processes of a machine share its cores, and all must see the output's folder. If one ends\nearly, all do, and the same command resumes from their parts, SESSION.h5.rank-2-of-8.partial. It writes one session.\n"
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
    bool isJoined = false; ///< This process computes one of the parts that it or another joins in the end.

    SessionTarget target() const { return {output, replace, *precision}; }
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
        logInfo(sentence);
        printWarnings({sentence});
    }
    return left;
}

using ChosenAnalyses = std::vector<const Analysis*>;

/// Returns the analyses of the whole run.
Result<ChosenAnalyses> askedAnalyses(const AnalyzeOptions& options, const ModelConfig& config,
                                     const AnalysisOptions& analysisOptions)
{
    return options.analyses ? parseAnalyses(*options.analyses) : defaultAnalyses(config, analysisOptions);
}

/// Restricts a run to its shard: chooses the shard's analyses, sets `share`, and marks the session as a part.
Result<ChosenAnalyses> chooseAnalyses(const AnalyzeOptions& options, const ModelConfig& config,
                                      AnalysisOptions& analysisOptions, Session& session)
{
    auto chosen = askedAnalyses(options, config, analysisOptions);
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
    std::shared_ptr<const ProcessedWeights> weights;
    Circuits circuits;
    AnalysisOptions options;
    ChosenAnalyses chosen;
    Session session; ///< Without results.
    bool isSelfContained = false;
    std::shared_ptr<const TokenSide> tokens = nullptr; ///< Made together with other processes.

    const WeightMap& file() const { return weights->original().file(); }
    std::string question() const
    {
        return runQuestion(*weights, session.configFile, options, session.namesFile);
    }
};

Result<ResultSet> computed(const ReadyRun& run, Resume& resume, RunReport& report, const Task& task)
{
    announce(takenUp(run.chosen, resume, task), run.circuits.config(), run.options, task);
    RunListener listener = report.listener(resume);
    listener.tokens = run.tokens;
    auto results = runAnalyses(run.circuits, run.chosen, run.options, task, listener);
    if (!results || !run.isSelfContained)
        return results;
    auto copies = selfContained(run.circuits, run.options.precision, task);
    if (!copies)
        return copies.error();
    ResultSet all = std::move(results).value();
    all.merge(std::move(copies).value());
    return all;
}

/// Computes the results of a run. \returns the session of this run alone
Result<Session> computedSession(const ReadyRun& run, const TokenFilter& filter, Resume& resume,
                                RunReport& report, const Task& task)
{
    auto found = checkedAnswer(computed(run, resume, report, task), run.file());
    if (!found)
        return found.error();
    ResultSet results = std::move(found).value();
    printWarnings(results.warnings);
    markFilter(results, filter);
    Session session = run.session;
    addResults(session, std::move(results));
    return session;
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

/// Reads the model and the options of a run, and checks that its results can be stored.
Result<ReadyRun> readyRun(const AnalyzeOptions& options, const Task& task)
{
    if (options.shard)
        if (const auto shard = parseShard(*options.shard); !shard)
            return shard.error();
    if (const auto writable = checkSessionPath(options.output); !writable)
        return writable.error();
    const auto opened = openWithTokenizer(*options.model, *options.processing, task);
    if (!opened)
        return opened.error();
    auto read = analysisOptionsOf(options, *opened->weights, opened->tokenizer, task);
    if (!read)
        return read.error();
    ReadyRun run{opened->weights,      Circuits(opened->weights), std::move(read).value(), {}, {},
                 options.selfContained};
    run.session = makeSession(*opened->weights, options.embedding, opened->words(), {});
    if (const auto source = options.model->source())
        setConfigSource(run.session, *source);
    auto chosen = chooseAnalyses(options, run.circuits.config(), run.options, run.session);
    if (!chosen)
        return chosen.error();
    run.chosen = std::move(chosen).value();
    if (run.session.part && run.session.part->shard.index > 1)
        run.isSelfContained = false; // one part holds the copies of the whole run
    Session whole = run.session;
    if (options.isJoined)
        whole.part.reset();
    if (const auto belongs = checkStored(options.target(), std::move(whole), run.file(), task); !belongs)
        return belongs.error();
    return run;
}

void printWritten(const AnalyzeOptions& options, std::size_t arrays, const Session& whole)
{
    std::cout << "Wrote " << options.output << " with " << arrays << " arrays about " << whole.model.name
              << ".\n";
}

/// A run of this process alone: the whole run, or a part of it with --shard.
Result<int> analyzeAlone(const AnalyzeOptions& options, ProgressLine& line, const Task& task)
{
    RunReport report(line);
    const auto run = readyRun(options, task);
    if (!run)
        return run.error();
    PartialRun partial(options.output, run->session);
    Resume resume(partial, run->question());
    auto session = computedSession(*run, *options.filter, resume, report, task);
    if (!session)
        return session.error();
    const std::size_t arrays = session->results.arrays.size();
    const auto whole = addedToFile(options.target(), std::move(session).value(), task);
    if (!whole)
        return whole.error();
    partial.remove();
    printWritten(options, arrays, *whole);
    report.printSummary(run->chosen.size(), arrays, *whole, options.output);
    return 0;
}

/// The part of this process in a run of several, which the first of them joins.
class RankAnalysis final : public RankPart {
public:
    RankAnalysis(const AnalyzeOptions& options, const Ranks& ranks, ProgressLine& line)
        : m_options(options)
        , m_ranks(ranks)
        , m_shard(ranks.shard())
        , m_report(line)
    {
        m_options.shard = shardName(m_shard);
        m_options.isJoined = true;
    }

    Result<Done> prepare(const Task& task) override
    {
        if (m_options.oneEnd)
            return Error{
                ErrorCode::InvalidArgument,
                "--one-end needs a run of one process, because its pairs of heads belong to no single head."};
        auto run = readyRun(m_options, task);
        if (!run)
            return run.error();
        m_run.emplace(std::move(run).value());
        RunEstimate estimate = estimateRun(m_run->chosen, m_run->circuits.config(), m_run->options);
        estimate.bytes *= m_ranks.localSize();
        const auto free = availableMemory();
        const std::string why = free ? whyTooLarge(estimate, *free, "start fewer processes") : std::string();
        if (!why.empty())
            return Error{ErrorCode::OutOfMemory,
                         fmt::format("{} The {} processes on one machine need that together.", why,
                                     m_ranks.localSize())};
        return Done{};
    }

    Result<Done> compute(const Task& task) override
    {
        auto tokens = commonTokens(task);
        if (!tokens)
            return tokens.error();
        m_run->tokens = std::move(tokens).value();
        PartialRun partial(rankSession(m_options.output, m_shard), m_run->session);
        Resume resume(partial, m_run->question());
        auto session = computedSession(*m_run, *m_options.filter, resume, m_report, task);
        if (!session)
            return session.error();
        m_warnings = session->warnings;
        return partial.finish(std::move(session).value(), resume.record(), task);
    }

    Result<Done> join(const Task& task) const override
    {
        std::vector<std::string> files;
        for (int i = 1; i <= m_shard.count; ++i)
            files.push_back(PartialRun::sideFile(rankSession(m_options.output, {i, m_shard.count})).string());
        auto merged = mergedParts(files, task);
        if (!merged)
            return merged.error();
        Session session = std::move(merged).value();
        session.view.clear(); // the record of the first part
        for (const std::string& warning : session.warnings)
            if (std::find(m_warnings.begin(), m_warnings.end(), warning) == m_warnings.end())
                printWarnings({warning});
        const std::size_t arrays = session.results.arrays.size();
        const auto whole = addedToFile(m_options.target(), std::move(session), task);
        if (!whole)
            return whole.error();
        removeRankFiles(m_options.output);
        printWritten(m_options, arrays, *whole);
        return Done{};
    }

private:
    /// Computes the token side of the whole run together with the other processes, whatever each has left to do.
    Result<std::shared_ptr<const TokenSide>> commonTokens(const Task& task) const
    {
        const ModelConfig& config = m_run->circuits.config();
        AnalysisOptions whole = m_run->options;
        whole.share.reset(); // the same question in every process, or one would wait for another's part
        const auto asked = askedAnalyses(m_options, config, whole);
        if (!asked)
            return asked.error();
        const auto plan = planRun(*asked, config, whole);
        if (!plan)
            return plan.error();
        const Peers peers{m_ranks.rank(), m_ranks.size(),
                          [&](std::span<double> numbers) { return m_ranks.sum(numbers, task); }};
        Task common = task;
        common.peers = &peers;
        return tokensFor(plan->analyses, m_run->circuits, whole, common);
    }

    AnalyzeOptions m_options;
    const Ranks& m_ranks;
    Shard m_shard;
    RunReport m_report;
    std::optional<ReadyRun> m_run;
    std::vector<std::string> m_warnings; // of this part
};

Result<int> analyze(const AnalyzeOptions& options, ProgressLine& line, const Task& task)
{
    const auto launch = options.shard ? std::nullopt : launchHere();
    if (!launch)
        return analyzeAlone(options, line, task);
    ProgressLine silent(ProgressLine::Mode::Silent);
    const auto part = [&](const Ranks& ranks) {
        return std::make_unique<RankAnalysis>(options, ranks, ranks.rank() == 0 ? line : silent);
    };
    return runInRanks(*launch, part, task);
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
    command->add_flag("--replace", options->replace, "Starts SESSION.h5 over instead of adding to it");
    CLI::Option* shard =
        command
            ->add_option("--shard", options->shard,
                         "Computes part i of a run in n processes; headwise merge joins the parts")
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
                   "For composition: includes pairs in which only one head is in --heads")
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
        "Also saves every head's factors, W_E and W_U, so that the session answers for any token");
    command->callback([options, &context] {
        context.work = [options, &context](const Task& task) {
            return analyze(*options, *context.progress, task);
        };
    });
}

} // namespace headwise::app
