#include "ui/base/text.h"
#include "ui/charts/small_multiples.h"
#include "ui/document/training_series.h"
#include "ui/pages/training/series_pictures.h"
#include "ui/pages/training/training_page.h"

#include <QCheckBox>
#include <QComboBox>

#include <algorithm>

// The chart of the selected head.

namespace headwise::ui {

bool TrainingPage::hasHead() const
{
    // A model of other heads has just been opened, and the series closes in a moment.
    const OpenModel* model = workspace()->model();
    return model->isOpen() && m_series->opened()->hasHeadsOf(model->card());
}

void TrainingPage::showHead()
{
    const HeadId head = workspace()->selection()->head();
    m_multiples->setCurrent(head);
    m_reading.cancel();
    if (!score() || !hasHead())
        return;
    m_chart->setMessage({});
    if (m_shown->currentIndex() == 0)
        showCurve(head);
    else
        showSpectra(head);
}

void TrainingPage::showCurve(HeadId head)
{
    const SeriesScore& shown = *score();
    m_chart->setLook(lookOfSteps(shown, m_log->isChecked()));
    m_chart->setSeries(shownCurvesOfHead(m_series->series(), shown, head, m_log->isChecked()));
    m_chart->setBaselines(shown.null ? std::vector{ChartBaseline{tr("null"), *shown.null}}
                                     : std::vector<ChartBaseline>());
    lightStep();
}

void TrainingPage::showSpectra(HeadId head)
{
    const auto opened = m_series->opened();
    const std::string circuit = m_shown->currentData().toString().toStdString();
    ChartLook look = lookOfSteps({}, m_log->isChecked());
    look.yTitle = tr("singular values of %1").arg(text(circuit).toUpper());
    look.yScale = ChartLook::Scale::Log;
    m_chart->setLook(look);
    m_chart->setBaselines({});
    m_chart->setSeries({}); // those of another head
    m_chart->setMessage(tr("Reading singular values…"));
    m_reading.start(
        tr("Reading singular values"),
        [opened, circuit, head](const Task& task) {
            return readHeadSpectra(opened->file, circuit, head, opened->series.steps.size(), task);
        },
        [this, opened](const Result<HeadSpectra>& spectra) {
            if (m_series->opened() != opened)
                return;
            m_chart->setSeries(spectra ? curvesOfSpectra(opened->series, *spectra, m_log->isChecked())
                                       : std::vector<ChartSeries>());
            m_chart->setMessage(spectra ? QString() : text(spectra.error()));
            lightStep();
        });
}

void TrainingPage::lightStep()
{
    if (!hasHead() || m_chart->series().empty())
        return m_chart->setLitPoint({});
    const int step = m_series->series().steps[static_cast<std::size_t>(m_series->step())];
    const QVector<QPointF>& points = m_chart->series().front().points;
    const auto lit = std::ranges::find(points, double(step), &QPointF::x);
    m_chart->setLitPoint(lit == points.end() ? std::nullopt : std::optional(*lit));
}

void TrainingPage::chooseStep(const QString& curve, int index)
{
    for (const ChartSeries& shown : m_chart->series())
        if (const auto& steps = m_series->series().steps; shown.name == curve && index < shown.points.size())
            return m_series->setStep(
                static_cast<int>(std::ranges::find(steps, static_cast<std::int32_t>(shown.points[index].x()))
                                 - steps.begin()));
}

} // namespace headwise::ui
