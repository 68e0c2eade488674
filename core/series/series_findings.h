#pragma once

#include "core/findings/findings.h"
#include "core/series/series_file.h"

namespace headwise {

/// Kind of the findings about a training; it has no rule.
inline constexpr const char* trainingFinding = "training";

/// Returns a finding for each change of a series, in the order of steps: "Between steps 512 and 1000 L4H6 became …". Its value is
/// that of the score at the second of these steps.
Findings findingsOf(const Series& series);

} // namespace headwise
