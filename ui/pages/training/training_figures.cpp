#include "core/base/log.h"
#include "ui/base/text.h"
#include "ui/charts/small_multiples.h"
#include "ui/document/head_metrics.h"
#include "ui/document/training_series.h"
#include "ui/figures/figure_recording.h"
#include "ui/figures/figure_writer.h"
#include "ui/pages/parts/head_grid.h"
#include "ui/pages/training/series_pictures.h"
#include "ui/pages/training/training_page.h"
#include "ui/widgets/table_figure.h"

#include <QFileInfo>

// Figures of the timeline, and the frames of its grid.

namespace headwise::ui {

namespace {

/// Says where the numbers of a series come from; those of the open model are others.
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
    return TrainingPage::tr("%1 at step %2")
        .arg(axisTitle(score), count(series.steps[static_cast<std::size_t>(step)]));
}

/// "grid-step00512.png": as many digits as the last step has, so that the files sort by step.
QString frameName(const QString& fileName, const Series& series, int step)
{
    const QFileInfo file(fileName);
    const auto digits = static_cast<int>(std::to_string(series.steps.back()).size());
    return QStringLiteral("%1/%2-step%3.%4")
        .arg(file.path(), file.completeBaseName())
        .arg(series.steps[static_cast<std::size_t>(step)], digits, 10, QLatin1Char('0'))
        .arg(file.suffix());
}

} // namespace

QList<FigureSource*> TrainingPage::figures()
{
    const SeriesScore* shown = score();
    if (!shown)
        return {};
    const Series& series = m_series->series();
    const QString head = text(workspace()->selection()->head());
    describeSeries(m_multiples, tr("%1 over training").arg(lookOfCurves().yTitle), *m_series);
    describeSeries(m_grid->view(), atStep(series, *shown, m_series->step()), *m_series);
    describeSeries(m_chart, tr("%1 %2 over training").arg(head, m_chart->look().yTitle), *m_series);
    describeSeries(m_changes, tr("Changes of heads"), *m_series);
    QList<FigureSource*> all{m_multiples, m_grid->view(), m_chart};
    if (!series.changes.empty())
        all << m_changes;
    return all;
}

void TrainingPage::forEachFrame(const std::function<void(FigureSource& frame, int step)>& write) const
{
    const SeriesScore* shown = score();
    if (!shown)
        return;
    const Series& series = m_series->series();
    HeatmapView frame;
    frame.setCellShape(HeatmapView::CellShape::Square);
    frame.content()->setRowAxis({tr("layer"), {}});
    frame.content()->setColumnAxis({tr("head"), {}});
    frame.colors()->showScale(m_grid->view()->colorScale());
    frame.content()->setValueTitle(m_grid->view()->content()->valueTitle());
    for (int step = 0; step < static_cast<int>(series.steps.size()); ++step) {
        frame.setMatrix(std::make_shared<Eigen::MatrixXf>(metricGrid(scoreAt(series, *shown, step))));
        describeSeries(&frame, atStep(series, *shown, step), *m_series);
        write(frame, step);
    }
}

void TrainingPage::exportFrames(const QString& fileName)
{
    const Result<FigureFormat> format = figureFormatOf(fileName);
    if (!format)
        return emit framesExported(text(format.error()));
    FigureSettings settings;
    settings.format = *format;
    forEachFrame([&](FigureSource& frame, int step) {
        const Series& series = m_series->series();
        const int last = static_cast<int>(series.steps.size()) - 1;
        m_writer->write(frame, frameName(fileName, series, step), settings, FigureWriter::Naming::AsGiven,
                        [this, step, last](const QString& file) {
                            if (step == last)
                                emit framesExported(
                                    tr("Wrote %1 frames, the last one to %2").arg(last + 1).arg(file));
                        });
    });
}

void TrainingPage::exportAnimation(const QString& fileName)
{
    FigureSettings settings;
    settings.format = FigureFormat::Svg;
    FigureWriter::Frames frames;
    forEachFrame([&](FigureSource& frame, int step) {
        const Series& series = m_series->series();
        if (const auto at = static_cast<std::size_t>(step); series.problems[at].empty())
            frames.emplace_back(std::make_shared<RecordedFigure>(frame, settings),
                                tr("step %1").arg(count(series.steps[at])));
    });
    m_writer->writeAnimation(frames, fileName, settings, [this, size = frames.size()](const QString& file) {
        emit framesExported(tr("Wrote an animation of %1 steps to %2").arg(size).arg(file));
    });
}

} // namespace headwise::ui
