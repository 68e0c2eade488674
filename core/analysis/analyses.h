#pragma once

#include "core/analysis/catalogue.h"

namespace headwise {

// The rows of the catalogue, each defined in the file of its analysis.
Analysis spectraAnalysis();
Analysis eigenvaluesAnalysis();
Analysis copyingAnalysis();
Analysis matchingAnalysis();
Analysis previousTokenAnalysis();
Analysis compositionAnalysis();
Analysis tablesAnalysis();
Analysis ranksAnalysis();
Analysis positionKernelAnalysis();
Analysis directPathAnalysis();

// tokens
Analysis foldingAnalysis();
Analysis skipTrigramsAnalysis();
Analysis tokenCardAnalysis();
Analysis directionCardAnalysis();
Analysis largestEntriesAnalysis();
Analysis normalityAnalysis();
Analysis fourierAnalysis();
Analysis diagonalRanksAnalysis();
Analysis copySuppressionAnalysis();
Analysis nameCopyingAnalysis();
Analysis relationsAnalysis();
Analysis salientTokensAnalysis();

// position
Analysis positionalCircuitAnalysis();
Analysis sixTermsAnalysis();
Analysis tokenPriorAnalysis();
Analysis detokenizationAnalysis();
Analysis positionGeometryAnalysis();
Analysis normSpreadAnalysis();
Analysis rotaryAnalysis();

// composition
Analysis compositionNullsAnalysis();
Analysis projectionKernelAnalysis();
Analysis componentCompositionAnalysis();
Analysis virtualHeadAnalysis();
Analysis inductionAnalysis();
Analysis embeddingCompositionAnalysis();

// spectra
Analysis normsAnalysis();
Analysis symmetryAnalysis();
Analysis singularTokensAnalysis();
Analysis directionSearchAnalysis();
Analysis mlpDirectionsAnalysis();
Analysis spectrumShapesAnalysis();
Analysis degeneracyAnalysis();
Analysis bandsAnalysis();
Analysis weightsInVocabularyAnalysis();
Analysis conditioningAnalysis();

// comparison
Analysis similarityAnalysis();
Analysis headMapAnalysis();

// prompt
Analysis attentionAnalysis();
Analysis patternScoresAnalysis();
Analysis logitAttributionAnalysis();
Analysis scoreSourcesAnalysis();

// architecture
Analysis skiplessAnalysis();
Analysis groupsAnalysis();
Analysis neuronsAnalysis();

} // namespace headwise
