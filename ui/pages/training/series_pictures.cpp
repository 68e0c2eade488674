#include "ui/pages/training/series_pictures.h"

#include "core/base/log.h"
#include "ui/base/color_choice.h"
#include "ui/base/text.h"
#include "ui/document/training_series.h"

#include <QStringList>

#include <algorithm>
#include <cmath>

namespace headwise::ui {

namespace {

double stepAt(const Series& series, int step)
{
    return series.steps[static_cast<std::size_t>(step)];
}

} // namespace

double valueOf(const Series& series, const SeriesScore& score, int step, HeadId head)
{
    const std::size_t place = (static_cast<std::size_t>(step) * static_cast<std::size_t>(series.nLayers)
                               + static_cast<std::size_t>(head.layer))
            * static_cast<std::size_t>(series.nHeads)
        + static_cast<std::size_t>(head.head);
    return double{score.values.at(place)};
}

QString axisTitle(const SeriesScore& score)
{
    const QString title = text(score.title.empty() ? score.name : score.title);
    return score.unit.empty() ? title : QStringLiteral("%1 (%2)").arg(title, text(score.unit));
}

std::vector<ChartSeries> curvesOfHead(const Series& series, const SeriesScore& score, HeadId head)
{
    ChartSeries curve;
    for (int step = 0; step < static_cast<int>(series.steps.size()); ++step)
        curve.points << QPointF(stepAt(series, step), valueOf(series, score, step, head));
    ChartSeries changes{.name = tr("change point"), .points = {}, .style = SeriesStyle::Points};
    for (const SeriesChange& change : series.changes)
        if (change.head == head && change.score == score.name)
            changes.points << QPointF(stepAt(series, change.after), change.valueAfter);
    return {curve, changes};
}

std::vector<ChartSeries> shownCurvesOfHead(const Series& series, const SeriesScore& score, HeadId head,
                                           bool hasLogSteps)
{
    std::vector<ChartSeries> curves = curvesOfHead(series, score, head);
    for (ChartSeries& curve : curves)
        curve.points.removeIf([hasLogSteps](const QPointF& point) {
            return !std::isfinite(point.y()) || (hasLogSteps && point.x() <= 0);
        });
    return curves;
}

std::vector<ChartSeries> curvesOfSpectra(const Series& series, const HeadSpectra& spectra, bool hasLogSteps)
{
    constexpr std::size_t named = 3; // more names have no room at the ends of the lines
    std::vector<ChartSeries> curves;
    for (std::size_t i = 0; i < spectra.rank; ++i) {
        ChartSeries curve;
        if (i < named)
            curve.name = QStringLiteral("σ%1").arg(i + 1);
        for (std::size_t step = 0; step < series.steps.size(); ++step)
            if (const float value = spectra.values[step * spectra.rank + i];
                std::isfinite(value) && (!hasLogSteps || series.steps[step] > 0))
                curve.points << QPointF(series.steps[step], double{value});
        curves.push_back(curve);
    }
    return curves;
}

std::vector<HeadCurves> curvesOfHeads(const Series& series, const SeriesScore& score)
{
    std::vector<HeadCurves> all;
    for (int layer = 0; layer < series.nLayers; ++layer)
        for (int head = 0; head < series.nHeads; ++head)
            all.push_back({{layer, head}, curvesOfHead(series, score, {layer, head})});
    return all;
}

ChartLook lookOfSteps(const SeriesScore& score, bool hasLogSteps)
{
    ChartLook look{.xTitle = tr("training step"), .yTitle = axisTitle(score), .wholeX = true};
    look.xScale = hasLogSteps ? ChartLook::Scale::Log : ChartLook::Scale::Linear;
    return look;
}

ColorScale scaleOfSteps(const SeriesScore& score)
{
    const bool hasNegative = std::ranges::any_of(score.values, [](float value) { return value < 0; });
    const Eigen::MatrixXf all = Eigen::Map<const Eigen::VectorXf>(
        score.values.data(), static_cast<Eigen::Index>(score.values.size()));
    ColorScale scale = fitted(firstScale(hasNegative), all);
    scale.fit = ColorFit::Fixed;
    return scale;
}

QString nameOfStep(const Series& series, int step)
{
    return tr("Step %1 (%2 of %3)")
        .arg(count(series.steps[static_cast<std::size_t>(step)]))
        .arg(step + 1)
        .arg(series.steps.size());
}

void describeSeries(FigureSource* figure, const QString& what, const TrainingSeries& from)
{
    const Series& series = from.series();
    figure->setFigureTitle(QStringLiteral("%1, %2").arg(what, text(series.modelName)));
    figure->setProvenance({{QStringLiteral("model"), text(series.modelName)},
                           {QStringLiteral("series"), text(from.file().filename().string())},
                           {QStringLiteral("software"), QStringLiteral("headwise ") + text(versionText())}});
}

QString atStep(const Series& series, const SeriesScore& score, int step)
{
    return tr("%1 at step %2").arg(axisTitle(score), count(series.steps[static_cast<std::size_t>(step)]));
}

ChartLook lookOfCurves(const SeriesScore& score, const CurveChoice& choice, bool hasLogSteps)
{
    if (choice.circuit.empty())
        return lookOfSteps(score, hasLogSteps);
    ChartLook look = lookOfSteps({}, hasLogSteps);
    look.yTitle = tr("singular values of %1").arg(text(choice.circuit).toUpper());
    look.yScale = ChartLook::Scale::Log;
    return look;
}

CurveChoice curveChoice(const QString& name)
{
    const std::string circuit = name.section(u'_', 0, 0).toStdString();
    return {circuit, name.contains(u'_') ? name.toStdString() : std::string()};
}

std::vector<ChartSeries> curvesOfTracks(const Series& series, const std::vector<VectorTrack>& tracks,
                                        bool hasLogSteps)
{
    std::vector<ChartSeries> curves;
    for (const VectorTrack& track : tracks) {
        ChartSeries curve;
        for (const TrackPoint& point : track)
            if (const int step = series.steps[point.step]; !hasLogSteps || step > 0)
                curve.points << QPointF(step, double{point.sigma});
        curve.name =
            tr("σ%1 at step %2").arg(track.back().index + 1).arg(count(series.steps[track.back().step]));
        curves.push_back(curve);
    }
    return curves;
}

QStringList problemsOf(const Series& series)
{
    QStringList lines;
    for (std::size_t step = 0; step < series.problems.size(); ++step)
        if (!series.problems[step].empty())
            lines << QStringLiteral("%1: %2").arg(text(series.members[step]), text(series.problems[step]));
    return lines;
}

QString sentencesOf(const Series& series)
{
    const QStringList problems = problemsOf(series);
    QStringList sentences;
    if (problems.size() == 1)
        sentences << tr("A checkpoint could not be read. %1").arg(problems.first());
    else if (!problems.isEmpty())
        sentences << tr("%1 of %2 checkpoints could not be read. The first: %3")
                         .arg(problems.size())
                         .arg(series.steps.size())
                         .arg(problems.first());
    if (series.changes.empty())
        sentences << tr("No head rose clearly above its null or fell back between these steps.");
    return sentences.join(u' ');
}

} // namespace headwise::ui
