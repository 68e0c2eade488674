#pragma once

#include "core/results/color_scale.h"
#include "core/series/vector_tracks.h"
#include "ui/charts/small_multiples.h"

#include <string>

namespace headwise::ui {

class TrainingSeries;

/// Curves that the page draws: the score, or the singular values of a circuit.
struct CurveChoice {
    std::string circuit; ///< "qk" or "ov"; empty: the score.
    std::string side; ///< Follows the singular vectors of this side, as DirectionSide::name; empty: by index.
};

/// Reads the name of a choice: empty, "qk", "ov", or a side such as "ov_in".
CurveChoice curveChoice(const QString& name);

/// Step against score of one head, and the points at which it changed.
std::vector<ChartSeries> curvesOfHead(const Series& series, const SeriesScore& score, HeadId head);
/// The same without the points that have no place: missing values, and a step 0 on logarithmic steps.
std::vector<ChartSeries> shownCurvesOfHead(const Series& series, const SeriesScore& score, HeadId head,
                                           bool hasLogSteps);
/// Step against each singular value of one head, the largest first; the first few have names. Leaves out what has no place.
std::vector<ChartSeries> curvesOfSpectra(const Series& series, const HeadSpectra& spectra, bool hasLogSteps);
/// Step against singular value of each followed vector, named by its place at its last step. Leaves out what has no place.
std::vector<ChartSeries> curvesOfTracks(const Series& series, const std::vector<VectorTrack>& tracks,
                                        bool hasLogSteps);
/// The curves of every head, layer by layer.
std::vector<HeadCurves> curvesOfHeads(const Series& series, const SeriesScore& score);
/// \param hasLogSteps a step 0 has no place then
ChartLook lookOfSteps(const SeriesScore& score, bool hasLogSteps);
ChartLook lookOfCurves(const SeriesScore& score, const CurveChoice& choice, bool hasLogSteps);
/// One scale for all steps, so that equal colours mean equal numbers.
ColorScale scaleOfSteps(const SeriesScore& score);

double valueOf(const Series& series, const SeriesScore& score, int step, HeadId head);
QString axisTitle(const SeriesScore& score);        ///< "Effective rank of OV (directions)"
QString nameOfStep(const Series& series, int step); ///< "Step 1 000 (7 of 12)"
QString atStep(const Series& series, const SeriesScore& score, int step); ///< "Copying at step 512"
/// Says where the numbers of a series come from; those of the open model are others.
void describeSeries(FigureSource* figure, const QString& what, const TrainingSeries& from);
/// The checkpoints that could not be read, each with the reason: "step10: model.safetensors ends early".
QStringList problemsOf(const Series& series);
/// Says that checkpoints could not be read or that no head changed; empty: neither.
QString sentencesOf(const Series& series);

} // namespace headwise::ui
