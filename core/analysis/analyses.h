#pragma once

#include "core/analysis/catalogue.h"

namespace headwise {

// The rows of the catalogue, each defined in the file of its analysis.
#define HEADWISE_ANALYSIS(name) Analysis name##Analysis();
#include "core/analysis/analyses.def"
#undef HEADWISE_ANALYSIS

} // namespace headwise
