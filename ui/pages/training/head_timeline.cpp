#include "ui/pages/training/head_timeline.h"

#include "ui/base/plain_text.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/document/training_series.h"
#include "ui/document/workspace.h"

#include <QLabel>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>
#include <utility>

namespace headwise::ui {

namespace {

constexpr std::size_t mostLeading = 8; // singular values in the small chart of a head

} // namespace

/// Singular values of one head, its followed vectors and, unless they are known, the leading values of all heads.
struct HeadTimeline::Numbers {
    HeadSpectra ofHead;
    std::vector<VectorTrack> tracks, longest; ///< All, and those that are drawn.
    std::vector<HeadSpectra> leading;
};

HeadTimeline::HeadTimeline(Workspace* workspace, QWidget* parent)
    : QWidget(parent)
    , m_workspace(workspace)
    , m_series(TrainingSeries::of(workspace))
    , m_chart(new LineChart(this))
    , m_reading(new QLabel(this))
{
    m_chart->setAccessibleName(tr("Selected head over training"));
    makeSecondary(m_reading);
    m_reading->setWordWrap(true);
    m_reading->hide();
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(8);
    layout->addWidget(m_chart, 1);
    layout->addWidget(m_reading);
    connect(m_chart, &LineChart::hoverLeft, this, [this] { emit readOutChanged({}); });
    connect(m_chart, &LineChart::pointHovered, this,
            [this](const QString&, int, const QPointF& point) { readOut(point); });
    connect(m_chart, &LineChart::pointClicked, this, &HeadTimeline::chooseStep);
}

void HeadTimeline::draw(const SeriesScore& score, const CurveChoice& choice, bool hasLogSteps)
{
    m_chart->setMessage({});
    m_chart->setLook(lookOfCurves(score, choice, hasLogSteps));
    m_tracks.clear();
    if (choice.side.empty()) // else the sentence stays until the numbers are there
        m_reading->hide();
    if (choice.circuit.empty())
        showScore(score, hasLogSteps);
    else
        showSpectra(choice, hasLogSteps);
}

void HeadTimeline::stop()
{
    m_job.cancel();
}

void HeadTimeline::showScore(const SeriesScore& score, bool hasLogSteps)
{
    m_chart->setSeries(
        shownCurvesOfHead(m_series->series(), score, m_workspace->selection()->head(), hasLogSteps));
    m_chart->setBaselines(score.null ? std::vector{ChartBaseline{tr("null"), *score.null}}
                                     : std::vector<ChartBaseline>());
    lightStep();
}

bool HeadTimeline::isLeadingKnown(const std::string& circuit) const
{
    return m_leadingSeries == m_series->opened() && m_leadingCircuit == circuit;
}

std::vector<HeadSpectra> HeadTimeline::leading(const std::string& circuit) const
{
    return isLeadingKnown(circuit) ? m_leading : std::vector<HeadSpectra>();
}

Result<HeadTimeline::Numbers> HeadTimeline::read(const OpenedSeries& opened, const CurveChoice& choice,
                                                 HeadId head, bool isLeadingKnown, const Task& task)
{
    Numbers numbers;
    const std::size_t steps = opened.series.steps.size();
    auto ofHead = readHeadSpectra(opened.file, choice.circuit, head, steps, task);
    if (!ofHead)
        return ofHead.error();
    numbers.ofHead = std::move(ofHead).value();
    if (!choice.side.empty()) {
        const auto overlaps = readVectorOverlaps(opened.file, choice.side, head, steps, task);
        if (!overlaps)
            return overlaps.error();
        numbers.tracks = vectorTracks(numbers.ofHead, *overlaps);
        numbers.longest = longestTracks(numbers.tracks, mostShownTracks);
    }
    if (isLeadingKnown)
        return numbers;
    auto leading = readLeadingSpectra(opened.file, choice.circuit, std::min(mostLeading, numbers.ofHead.rank),
                                      steps, task);
    if (!leading)
        return leading.error();
    numbers.leading = std::move(leading).value();
    return numbers;
}

void HeadTimeline::showSpectra(const CurveChoice& choice, bool hasLogSteps)
{
    const auto opened = m_series->opened();
    const HeadId head = m_workspace->selection()->head();
    const bool isKnown = isLeadingKnown(choice.circuit);
    m_chart->setBaselines({});
    m_chart->setSeries({}); // those of another head
    m_chart->setMessage(tr("Reading singular values…"));
    m_job.start(
        tr("Reading singular values"),
        [opened, choice, head, isKnown](const Task& task) {
            return read(*opened, choice, head, isKnown, task);
        },
        [this, opened, choice, isKnown, hasLogSteps](const Result<Numbers>& found) {
            if (m_series->opened() != opened)
                return;
            m_chart->setMessage(found ? QString() : text(found.error()));
            if (found)
                showNumbers(*found, choice, hasLogSteps);
            m_reading->setVisible(!m_tracks.empty());
            if (found && !isKnown) {
                m_leading = found->leading;
                m_leadingSeries = opened;
                m_leadingCircuit = choice.circuit;
                emit leadingRead();
            }
            lightStep();
        });
}

void HeadTimeline::showNumbers(const Numbers& numbers, const CurveChoice& choice, bool hasLogSteps)
{
    const Series& series = m_series->series();
    if (choice.side.empty())
        return m_chart->setSeries(curvesOfSpectra(series, numbers.ofHead, hasLogSteps));
    m_tracks = numbers.longest;
    m_chart->setSeries(curvesOfTracks(series, m_tracks, hasLogSteps));
    if (m_tracks.empty())
        return m_chart->setMessage(
            tr("No singular vector has an overlap (u · u′)² above %1 with the next step.")
                .arg(leastTrackOverlap));
    setPlain(
        m_reading,
        tr("Each line follows one singular vector, whatever its place. It ends where the overlap (u · u′)² with the next step is at most %1; values within 1\u00a0% are followed as a group.")
            .arg(leastTrackOverlap));
    const auto left = numbers.tracks.size() - m_tracks.size();
    m_reading->setToolTip(left == 0       ? QString()
                              : left == 1 ? tr("1 short track is not drawn.")
                                          : tr("%1 short tracks are not drawn.").arg(left));
}

void HeadTimeline::readOut(const QPointF& point)
{
    QString words = tr("step %1   %2").arg(QString::number(qRound64(point.x())), number(point.y()));
    for (const VectorTrack& track : m_tracks)
        for (const TrackPoint& at : track)
            if (m_series->series().steps[at.step] == point.x() && double{at.sigma} == point.y()
                && std::isfinite(at.overlap))
                words += tr("   overlap with the step before %1").arg(number(double{at.overlap}));
    emit readOutChanged(words);
}

void HeadTimeline::lightStep()
{
    if (m_chart->series().empty())
        return m_chart->setLitPoint({});
    const int step = m_series->series().steps[static_cast<std::size_t>(m_series->step())];
    const QVector<QPointF>& points = m_chart->series().front().points;
    const auto lit = std::ranges::find(points, double(step), &QPointF::x);
    m_chart->setLitPoint(lit == points.end() ? std::nullopt : std::optional(*lit));
}

void HeadTimeline::chooseStep(const QString& curve, int index)
{
    for (const ChartSeries& shown : m_chart->series())
        if (const auto& steps = m_series->series().steps; shown.name == curve && index < shown.points.size())
            return m_series->setStep(
                static_cast<int>(std::ranges::find(steps, static_cast<std::int32_t>(shown.points[index].x()))
                                 - steps.begin()));
}

} // namespace headwise::ui
