#pragma once

#include "core/results/color_scale.h"
#include "core/series/series_file.h"
#include "ui/charts/small_multiples.h"

namespace headwise::ui {

/// Step against score of one head, and the points at which it changed.
std::vector<ChartSeries> curvesOfHead(const Series& series, const SeriesScore& score, HeadId head);
/// The same without the points that have no place: missing values, and a step 0 on logarithmic steps.
std::vector<ChartSeries> shownCurvesOfHead(const Series& series, const SeriesScore& score, HeadId head,
                                           bool hasLogSteps);
/// Step against each singular value of one head, the largest first; the first few have names. Leaves out what has no place.
std::vector<ChartSeries> curvesOfSpectra(const Series& series, const HeadSpectra& spectra, bool hasLogSteps);
/// The curves of every head, layer by layer.
std::vector<HeadCurves> curvesOfHeads(const Series& series, const SeriesScore& score);
/// \param hasLogSteps a step 0 has no place then
ChartLook lookOfSteps(const SeriesScore& score, bool hasLogSteps);
/// One scale for all steps, so that equal colours mean equal numbers.
ColorScale scaleOfSteps(const SeriesScore& score);

double valueOf(const Series& series, const SeriesScore& score, int step, HeadId head);
QString axisTitle(const SeriesScore& score);        ///< "Effective rank of OV (directions)"
QString nameOfStep(const Series& series, int step); ///< "Step 1 000 (7 of 12)"
/// The checkpoints that could not be read, each with the reason: "step10: model.safetensors ends early".
QStringList problemsOf(const Series& series);

} // namespace headwise::ui
