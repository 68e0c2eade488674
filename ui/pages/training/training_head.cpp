#include "ui/base/text.h"
#include "ui/charts/small_multiples.h"
#include "ui/document/training_series.h"
#include "ui/pages/training/series_pictures.h"
#include "ui/pages/training/training_page.h"

#include <QCheckBox>
#include <QComboBox>

#include <algorithm>
#include <utility>

// The curves of all heads and of the selected one.

namespace headwise::ui {

namespace {

constexpr std::size_t mostLeading = 8; // singular values in the small chart of a head

/// Singular values of one head and, unless they are known, the leading ones of all.
struct SpectraRead {
    HeadSpectra ofHead;
    std::vector<HeadSpectra> leading;
};

Result<SpectraRead> readSpectra(const OpenedSeries& opened, const std::string& circuit, HeadId head,
                                bool isLeadingKnown, const Task& task)
{
    const std::size_t steps = opened.series.steps.size();
    auto ofHead = readHeadSpectra(opened.file, circuit, head, steps, task);
    if (!ofHead)
        return ofHead.error();
    if (isLeadingKnown)
        return SpectraRead{std::move(ofHead).value(), {}};
    auto leading = readLeadingSpectra(opened.file, circuit, std::min(mostLeading, ofHead->rank), steps, task);
    if (!leading)
        return leading.error();
    return SpectraRead{std::move(ofHead).value(), std::move(leading).value()};
}

} // namespace

std::string TrainingPage::shownCircuit() const
{
    return m_shown->currentData().toString().toStdString();
}

ChartLook TrainingPage::lookOfCurves() const
{
    const std::string circuit = shownCircuit();
    if (circuit.empty())
        return lookOfSteps(*score(), m_log->isChecked());
    ChartLook look = lookOfSteps({}, m_log->isChecked());
    look.yTitle = tr("singular values of %1").arg(text(circuit).toUpper());
    look.yScale = ChartLook::Scale::Log;
    return look;
}

void TrainingPage::showMultiples()
{
    const Series& series = m_series->series();
    std::vector<HeadCurves> heads = curvesOfHeads(series, *score());
    if (const std::string circuit = shownCircuit(); !circuit.empty()) {
        const bool isRead = m_leadingSeries == m_series->opened() && m_leadingCircuit == circuit
            && m_leading.size() == heads.size();
        for (std::size_t i = 0; i < heads.size(); ++i)
            heads[i].series = isRead ? curvesOfSpectra(series, m_leading[i], m_log->isChecked())
                                     : std::vector<ChartSeries>();
    }
    m_multiples->setCurves(lookOfCurves(), std::move(heads), series.nHeads);
}

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
    if (shownCircuit().empty())
        showCurve(head);
    else
        showSpectra(head);
}

void TrainingPage::showCurve(HeadId head)
{
    const SeriesScore& shown = *score();
    m_chart->setLook(lookOfCurves());
    m_chart->setSeries(shownCurvesOfHead(m_series->series(), shown, head, m_log->isChecked()));
    m_chart->setBaselines(shown.null ? std::vector{ChartBaseline{tr("null"), *shown.null}}
                                     : std::vector<ChartBaseline>());
    lightStep();
}

void TrainingPage::showSpectra(HeadId head)
{
    const auto opened = m_series->opened();
    const std::string circuit = shownCircuit();
    const bool isKnown = m_leadingSeries == opened && m_leadingCircuit == circuit;
    m_chart->setLook(lookOfCurves());
    m_chart->setBaselines({});
    m_chart->setSeries({}); // those of another head
    m_chart->setMessage(tr("Reading singular values…"));
    m_reading.start(
        tr("Reading singular values"),
        [opened, circuit, head, isKnown](const Task& task) {
            return readSpectra(*opened, circuit, head, isKnown, task);
        },
        [this, opened, circuit, isKnown](Result<SpectraRead> read) {
            if (m_series->opened() != opened)
                return;
            m_chart->setSeries(read ? curvesOfSpectra(opened->series, read->ofHead, m_log->isChecked())
                                    : std::vector<ChartSeries>());
            m_chart->setMessage(read ? QString() : text(read.error()));
            if (read && !isKnown) {
                m_leading = std::move(read)->leading;
                m_leadingSeries = opened;
                m_leadingCircuit = circuit;
                showMultiples();
            }
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
