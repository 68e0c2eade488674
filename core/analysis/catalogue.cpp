#include "core/analysis/catalogue.h"

#include "core/analysis/analyses.h"
#include "core/analysis/per_head.h"
#include "core/analysis/provenance.h"
#include "core/analysis/residual_basis.h"
#include "core/analysis/run_estimate.h"
#include "core/analysis/run_parts.h"
#include "core/base/memory.h"
#include "core/checkpoint/file_change.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <new>

namespace headwise {

namespace {

constexpr double tablesBudget = 2e11; // heads · d_vocab² · d_head (CONTRACTS.md §13)

std::string wrongRequest(const ModelConfig& config, const AnalysisOptions& options)
{
    std::vector<HeadId> named = options.heads;
    named.insert(named.end(), options.inputs.previousTokenHeads.begin(),
                 options.inputs.previousTokenHeads.end());
    for (const HeadId head : named) {
        if (head.layer < 0 || head.layer >= config.nLayers || head.head < 0 || head.head >= config.nHeads) {
            return fmt::format("There is no head {}: this model has layers 0 to {} with heads 0 to {}.",
                               dottedHead(head), config.nLayers - 1, config.nHeads - 1);
        }
    }
    if (options.tableSize < 1)
        return fmt::format("The length of the token tables is {}, expected at least 1.", options.tableSize);
    return {};
}

/// The progress of one of several analyses says whose steps it counts.
Task catalogueNamed(const Task& task, std::string_view id, std::size_t index, std::size_t count)
{
    if (!task.onProgress || count < 2)
        return task;
    Task one = task;
    one.onProgress = [report = task.onProgress, of = fmt::format(" ({}, {} of {})", id, index + 1, count)](
                         int done, int total, std::string_view step) {
        report(done, total, std::string(step) + of);
    };
    return one;
}

/// What the analyses of one run are given, each as it measures lengths.
struct Contexts {
    AnalysisContext own;
    std::optional<AnalysisContext> inEmbeddingBasis; ///< Empty where none of them follows the metric.

    const AnalysisContext& of(const Analysis& analysis) const
    {
        return isInEmbeddingBasis(analysis, own.options) ? *inEmbeddingBasis : own;
    }
};

/// \param analyses that will be run
Result<Contexts> contextsOf(const Circuits& circuits, std::span<const Analysis* const> analyses,
                            const AnalysisOptions& options, const Task& task)
{
    const auto any = [&](auto&& is) { return std::any_of(analyses.begin(), analyses.end(), is); };
    Contexts contexts{{circuits, nullptr, options}, {}};
    if (!any([&](const Analysis* row) { return needsTokenSide(*row, options); }))
        return contexts;
    const auto tokens = tokenSide(circuits, options.embedding, task, options.precision);
    if (!tokens)
        return tokens.error();
    contexts.own.tokens = *tokens;
    if (!any([&](const Analysis* row) { return isInEmbeddingBasis(*row, options); }))
        return contexts;
    const bool keepsTokens =
        any([&](const Analysis* row) { return row->needsTokens && isInEmbeddingBasis(*row, options); });
    auto other =
        inEmbeddingBasis(contexts.own, keepsTokens ? TokensInBasis::Kept : TokensInBasis::LeftOut, task);
    if (!other)
        return other.error();
    contexts.inEmbeddingBasis = std::move(other).value();
    return contexts;
}

/// The table of analyses, one to a line.
constexpr std::array rows{
    // The default ones, in the order in which they run.
    spectraAnalysis,
    eigenvaluesAnalysis,
    copyingAnalysis,
    matchingAnalysis,
    previousTokenAnalysis,
    compositionAnalysis,
    tablesAnalysis,
    // tokens
    directPathAnalysis,
    largestEntriesAnalysis,
    foldingAnalysis,
    skipTrigramsAnalysis,
    tokenCardAnalysis,
    directionCardAnalysis,
    normalityAnalysis,
    diagonalRanksAnalysis,
    copySuppressionAnalysis,
    nameCopyingAnalysis,
    relationsAnalysis,
    salientTokensAnalysis,
    // position
    positionKernelAnalysis,
    positionalCircuitAnalysis,
    sixTermsAnalysis,
    tokenPriorAnalysis,
    detokenizationAnalysis,
    positionGeometryAnalysis,
    normSpreadAnalysis,
    rotaryAnalysis,
    // composition
    inductionAnalysis,
    compositionNullsAnalysis,
    projectionKernelAnalysis,
    embeddingCompositionAnalysis,
    componentCompositionAnalysis,
    virtualHeadAnalysis,
    // spectra
    normsAnalysis,
    ranksAnalysis,
    spectrumShapesAnalysis,
    symmetryAnalysis,
    singularTokensAnalysis,
    directionSearchAnalysis,
    mlpDirectionsAnalysis,
    degeneracyAnalysis,
    bandsAnalysis,
    weightsInVocabularyAnalysis,
    conditioningAnalysis,
    // comparison
    similarityAnalysis,
    headMapAnalysis,
    // prompt
    attentionAnalysis,
    patternScoresAnalysis,
    logitAttributionAnalysis,
    scoreSourcesAnalysis,
    // architecture
    skiplessAnalysis,
    groupsAnalysis,
    neuronsAnalysis,
};

} // namespace

std::span<const Analysis> catalogue()
{
    static const std::vector<Analysis> table = [] {
        std::vector<Analysis> made;
        made.reserve(rows.size());
        for (Analysis (*row)() : rows)
            made.push_back(row());
        return made;
    }();
    return table;
}

const Analysis* findAnalysis(std::string_view id)
{
    const auto table = catalogue();
    const auto found =
        std::find_if(table.begin(), table.end(), [&](const Analysis& row) { return row.id == id; });
    return found == table.end() ? nullptr : &*found;
}

std::string whyLeftOut(const Analysis& analysis, const ModelConfig& config, const AnalysisOptions& options)
{
    const InputNeeds& needs = analysis.needs;
    const AnalysisInputs& inputs = options.inputs;
    if (needs.tokenizer && !inputs.tokenizer)
        return "It needs the model's tokenizer, and there is none.";
    if (needs.prompt && inputs.prompt.empty())
        return "It needs a prompt (--prompt or --tokens).";
    if (needs.token && !inputs.token)
        return "It needs a token (--token).";
    if (needs.pair && !inputs.pair)
        return "It needs two heads (--pair).";
    if (needs.direction && inputs.direction.empty())
        return "It needs a direction (--direction).";
    return analysis.whyNot(config, options);
}

Result<ResultSet> runAnalyses(const Circuits& circuits, std::span<const Analysis* const> chosen,
                              const AnalysisOptions& options, const Task& task)
{
    return runAnalysesInParts(circuits, chosen, options, {}, task);
}

Result<ResultSet> runAnalysesInParts(const Circuits& circuits, std::span<const Analysis* const> chosen,
                                     const AnalysisOptions& options, const RunParts& parts, const Task& task)
{
    const ModelConfig& config = circuits.config();
    if (std::string wrong = wrongRequest(config, options); !wrong.empty())
        return Error{ErrorCode::InvalidArgument, std::move(wrong)};
    ResultSet results;
    std::vector<const Analysis*> fitting;
    for (const Analysis* analysis : chosen) {
        const std::string reason = whyLeftOut(*analysis, config, options);
        if (reason.empty())
            fitting.push_back(analysis);
        else
            results.warnings.push_back(fmt::format("{} was left out. {}", analysis->title, reason));
    }
    std::vector<std::optional<ResultSet>> known(fitting.size());
    std::vector<const Analysis*> missing;
    for (std::size_t i = 0; i < fitting.size(); ++i) {
        known[i] = parts.take ? parts.take(*fitting[i]) : std::nullopt;
        if (!known[i])
            missing.push_back(fitting[i]);
    }
    const RunEstimate estimate = estimateRun(missing, config, options);
    if (const auto free = availableMemory(); free && !whyTooLarge(estimate, *free).empty())
        return Error{ErrorCode::OutOfMemory, whyTooLarge(estimate, *free)};
    try {
        const auto contexts = contextsOf(circuits, missing, options, task);
        if (!contexts)
            return contexts.error();
        for (std::size_t i = 0; i < fitting.size(); ++i) {
            if (known[i]) {
                results.merge(std::move(*known[i]));
                continue;
            }
            Result<ResultSet> part = fitting[i]->run(contexts->of(*fitting[i]),
                                                     catalogueNamed(task, fitting[i]->id, i, fitting.size()));
            const auto unchanged = checkUnchanged(circuits.weights().original().file());
            if (!unchanged) // whatever the analysis made of it
                return unchanged.error();
            if (!part && part.error().code == ErrorCode::Corrupt && chosen.size() > 1) {
                results.warnings.push_back(
                    fmt::format("{} was left out. {}", fitting[i]->title, part.error().message));
                continue;
            }
            if (!part)
                return part.error();
            ResultSet found = std::move(part).value();
            markProvenance(found, *fitting[i], options);
            if (isInEmbeddingBasis(*fitting[i], options))
                markMetric(found, options.embedding);
            if (parts.computed)
                parts.computed(*fitting[i], found);
            results.merge(std::move(found));
            if (parts.merged)
                parts.merged(results);
        }
    } catch (const std::bad_alloc&) {
        return Error{
            ErrorCode::OutOfMemory,
            "There is not enough memory for these analyses; ask for fewer at once, for fewer heads, or for a smaller -k."};
    }
    return results;
}

std::vector<const Analysis*> defaultAnalyses(const ModelConfig& config, const AnalysisOptions& options)
{
    const double heads = static_cast<double>(selectedHeads(config, options).size());
    const double tables = heads * config.dVocab * config.dVocab * config.dHead;
    std::vector<const Analysis*> chosen;
    for (const Analysis& analysis : catalogue()) {
        if (analysis.isDefault && (analysis.id != "tables" || tables <= tablesBudget))
            chosen.push_back(&analysis);
    }
    return chosen;
}

} // namespace headwise
