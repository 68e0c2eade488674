#include "core/analysis/catalogue.h"

#include "core/analysis/analyses.h"

#include <algorithm>
#include <array>

namespace headwise {

namespace {

/// The table of analyses, one to a line.
constexpr std::array catalogueRows{
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
    fourierAnalysis,
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
        made.reserve(catalogueRows.size());
        for (Analysis (*row)() : catalogueRows)
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

std::string whyNotOf(const Analysis& analysis, const ModelConfig& config, const AnalysisOptions& options)
{
    std::string unknown = whyUnknown(config, analysis.needs.config);
    return unknown.empty() ? analysis.whyNot(config, options) : unknown;
}

} // namespace headwise
