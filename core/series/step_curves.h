#pragma once

#include "core/series/series_steps.h"

#include <span>
#include <string_view>
#include <vector>

namespace headwise {

/// Arrays over the steps of a series that `export` draws: those of trackArrays(), training/SCORE [layer, head, step], and
/// training/CIRCUIT_singular_values [layer, head, singular value, step]. NaN where a step has no number.
/// \param steps of one series
std::vector<ResultArray> stepCurves(std::span<const SeriesStep> steps);
/// Adds them to the last of the steps.
void addStepCurves(std::vector<SeriesStep>& steps);
/// Tells whether a view of that name shows all steps instead of one.
bool showsAllSteps(std::string_view view);
inline constexpr std::string_view trainingFolder = "training/"; ///< Holds what is not of single vectors.

} // namespace headwise
