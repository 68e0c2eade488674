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

} // namespace headwise
