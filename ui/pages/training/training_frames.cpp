#include "ui/pages/training/training_frames.h"

#include "ui/base/text.h"
#include "ui/document/head_metrics.h"
#include "ui/document/training_series.h"
#include "ui/figures/figure_recording.h"
#include "ui/figures/figure_writer.h"
#include "ui/heatmaps/heatmap_view.h"
#include "ui/pages/training/series_pictures.h"

#include <QFileDialog>
#include <QFileInfo>

#include <utility>

namespace headwise::ui {

namespace {

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

TrainingFrames::TrainingFrames(TrainingSeries* series, const HeatmapView* grid,
                               std::function<const SeriesScore*()> shown, QWidget* page)
    : QObject(page)
    , m_series(series)
    , m_grid(grid)
    , m_shown(std::move(shown))
    , m_page(page)
    , m_writer(new FigureWriter(this))
{
    connect(m_writer, &FigureWriter::failed, this, &TrainingFrames::exported);
}

void TrainingFrames::askForFile()
{
    const QString animated = tr("Animated SVG (*.svg)"), name = m_shown() ? text(m_shown()->name) : QString();
    auto* dialog =
        new QFileDialog(m_page, tr("Export frames"), QString(),
                        tr("PNG pictures (*.png);;SVG pictures (*.svg);;PDF pictures (*.pdf);;") + animated);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setAcceptMode(QFileDialog::AcceptSave);
    const auto suggest = [dialog, name](const QString& filter) {
        const QString suffix = filter.section(u'.', -1).chopped(1); // "PNG pictures (*.png)"
        dialog->setDefaultSuffix(suffix);
        dialog->selectFile(name + u'.' + suffix);
    };
    suggest(dialog->selectedNameFilter());
    connect(dialog, &QFileDialog::filterSelected, dialog, suggest);
    connect(dialog, &QFileDialog::fileSelected, this, [this, dialog, animated](const QString& file) {
        if (dialog->selectedNameFilter() == animated)
            exportAnimation(file);
        else
            exportFrames(file);
    });
    dialog->open();
}

void TrainingFrames::forEachFrame(const std::function<void(FigureSource& frame, int step)>& write) const
{
    const SeriesScore* shown = m_shown();
    if (!shown)
        return;
    const Series& series = m_series->series();
    HeatmapView frame;
    frame.setCellShape(HeatmapView::CellShape::Square);
    frame.content()->setRowAxis({tr("layer"), {}});
    frame.content()->setColumnAxis({tr("head"), {}});
    frame.colors()->showScale(m_grid->colors()->scale());
    frame.content()->setValueTitle(m_grid->content()->valueTitle());
    for (int step = 0; step < static_cast<int>(series.steps.size()); ++step) {
        frame.setMatrix(std::make_shared<Eigen::MatrixXf>(metricGrid(scoreAt(series, *shown, step))));
        describeSeries(&frame, atStep(series, *shown, step), *m_series);
        write(frame, step);
    }
}

void TrainingFrames::exportFrames(const QString& fileName)
{
    const Result<FigureFormat> format = figureFormatOf(fileName);
    if (!format)
        return emit exported(text(format.error()));
    FigureSettings settings;
    settings.format = *format;
    forEachFrame([&](FigureSource& frame, int step) {
        const Series& series = m_series->series();
        const int last = static_cast<int>(series.steps.size()) - 1;
        m_writer->write(frame, frameName(fileName, series, step), settings, FigureWriter::Naming::AsGiven,
                        [this, step, last](const QString& file) {
                            if (step == last)
                                emit exported(
                                    tr("Wrote %1 frames, the last one to %2").arg(last + 1).arg(file));
                        });
    });
}

void TrainingFrames::exportAnimation(const QString& fileName)
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
        emit exported(tr("Wrote an animation of %1 steps to %2").arg(size).arg(file));
    });
}

} // namespace headwise::ui
