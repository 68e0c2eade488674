#include "app/commands/filter_arguments.h"
#include "app/commands/model_arguments.h"
#include "app/commands/session_command.h"
#include "app/commands/support.h"
#include "app/commands/token_arguments.h"
#include "core/findings/findings_text.h"
#include "core/runs/queue.h"
#include "core/series/series_findings.h"
#include "core/session/session_file.h"

#include <spdlog/fmt/fmt.h>

#include <iostream>

namespace headwise::app {
namespace {

constexpr std::string_view findingsFooter =
    "Each line is a statement that a rule derives from the analyses. It gives the number, the value for random weights and\nthe standard deviations above that (z). Thresholds are corrected for the number of heads. A finding is not a proof: look at the picture it names.\nFor a MODEL the analyses that the rules read are computed and not kept. A SESSION answers from its results, and stderr\nnames what they cannot answer. A SERIES answers with the steps at which heads changed, in order. --json gives kind, heads, value, null, z, text and view.\n"
    "\n"
    "Exit codes: 0 good, 2 wrong usage, 3 bad input, 4 input/output or memory, 130 cancelled.";

struct FindingsOptions {
    std::shared_ptr<ModelArguments> model;
    std::shared_ptr<ProcessingArguments> processing;
    bool json = false, markdown = false;
};

FindingEvidence evidenceOf(const Session& session)
{
    return {session.model, session.results, session.tokens};
}

void printFindings(const Findings& findings, std::string_view model, const FindingsOptions& options)
{
    if (options.json)
        std::cout << findingsJson(findings) << "\n";
    else if (options.markdown)
        std::cout << findingsMarkdown(findings, model);
    else
        std::cout << findingsText(findings);
}

bool isGiven(const ProcessingArguments& processing)
{
    for (const auto* one :
         {&processing.foldLayerNorm, &processing.centerWritingWeights, &processing.centerUnembed,
          &processing.foldValueBiases, &processing.refactorAttention})
        if (one->option->count() > 0)
            return true;
    return false;
}

Result<int> findingsOfSeries(const FindingsOptions& options, const Task& task)
{
    const auto series = readSeries(options.model->path, task);
    if (!series)
        return series.error();
    const Findings findings = findingsOf(*series);
    if (findings.found.empty() && !options.json && !options.markdown)
        std::cout << "No head rose clearly above its null or fell back between these steps.\n";
    else
        printFindings(findings, series->modelName, options);
    return 0;
}

Result<int> findingsOfSession(const FindingsOptions& options, const Task& task)
{
    const ModelArguments& model = *options.model;
    if (model.areGiven() || isGiven(*options.processing))
        return Error{
            ErrorCode::InvalidArgument,
            "Options for reading and processing control how results are computed, and '" + model.path
                + "' is a session, whose results exist already; name the model, or leave these options out."};
    if (isSeries(model.path))
        return findingsOfSeries(options, task);
    const auto session = readSession(model.path, task);
    if (!session)
        return session.error();
    const Findings findings = findingsOf(evidenceOf(*session));
    printFindings(findings, session->model.name, options);
    if (!findings.missing.empty())
        printWarnings(
            {fmt::format("{} The session answers after: headwise analyze {} -o {} --analyses {}{}",
                         missingSentence(findings), shellWord(session->model.source), shellWord(model.path),
                         missingAnalyses(findings), remakingOptions(*session))});
    return 0;
}

/// Returns the analyses that the rules read and that apply to this model.
std::vector<const Analysis*> analysesToRun(const ModelConfig& config, const AnalysisOptions& options)
{
    std::vector<const Analysis*> chosen;
    for (const std::string_view id : findingAnalyses()) {
        const Analysis* analysis = findAnalysis(id);
        if (analysis && whyLeftOut(*analysis, config, options).empty())
            chosen.push_back(analysis);
    }
    return chosen;
}

Result<int> findingsOfModel(const FindingsOptions& options, const Task& task)
{
    const auto opened = openWithTokenizer(*options.model, *options.processing, task);
    if (!opened)
        return opened.error();
    const Circuits circuits(opened->weights);
    AnalysisOptions analysisOptions;
    if (opened->tokenizer)
        analysisOptions.inputs.tokenizer = std::make_shared<const Tokenizer>(*opened->tokenizer);
    auto unused =
        leftOutTokens(TokenFilter{}, opened->tokenizer, *opened->weights, circuits.config().dVocab, task);
    if (!unused)
        return unused.error();
    analysisOptions.unusedTokens = std::move(unused).value();
    const auto chosen = analysesToRun(circuits.config(), analysisOptions);
    const std::string notice =
        longRunNotice(estimateRun(chosen, circuits.config(), analysisOptions), coresOf(task.threads));
    if (!notice.empty())
        printWarnings({notice + " Ctrl-C stops it."});
    auto results = checkedAnswer(runAnalyses(circuits, chosen, analysisOptions, task),
                                 opened->weights->original().file());
    if (!results)
        return results.error();
    printWarnings(results->warnings);
    const Session session = makeSession(*opened->weights, "raw", opened->words(), std::move(results).value());
    Findings findings = findingsOf(evidenceOf(session));
    findings.missing.clear(); // everything that applies was computed
    printFindings(findings, session.model.name, options);
    return 0;
}

Result<int> runFindings(const FindingsOptions& options, const Task& task)
{
    if (namesSession(options.model->path))
        return findingsOfSession(options, task);
    return findingsOfModel(options, task);
}

} // namespace

void addFindingsCommand(CLI::App& root, CommandContext& context)
{
    auto options = std::make_shared<FindingsOptions>();
    CLI::App* command =
        root.add_subcommand("findings", "Lists what stands out from random weights, strongest first");
    command->footer(std::string(findingsFooter));
    options->model = addModelArguments(*command);
    command->get_option("MODEL")->description(
        "A model, a session (.h5) written by analyze, or a series written by series");
    options->processing = addProcessingArguments(*command);
    CLI::Option* json = command->add_flag("--json", options->json, "Prints a JSON list");
    command->add_flag("--markdown", options->markdown, "Prints a heading and a list in Markdown")
        ->excludes(json);
    addThreadsOption(*command, context);
    command->callback([options, &context] {
        context.work = [options](const Task& task) { return runFindings(*options, task); };
    });
}

} // namespace headwise::app
