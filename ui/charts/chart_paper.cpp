#include "ui/charts/chart_content.h"

#include "ui/base/text.h"
#include "ui/figures/figure_export_title.h"
#include "ui/figures/figure_recording.h"

#include <QPainter>
#include <QSet>

#include <algorithm>

// A chart on paper, with the changes of its export.

namespace headwise::ui {

namespace {

/// Finds the name in the dialog: a curve through the points of the next series belongs to that one, a series without a
/// name to the one whose place it has.
QString choiceName(const std::vector<ChartSeries>& series, std::size_t index)
{
    const int place = placeOf(series, index);
    if (series[index].name.isEmpty() && place < static_cast<int>(index))
        return series[static_cast<std::size_t>(place)].name;
    const bool isRepeated = series[index].name.isEmpty() && index + 1 < series.size()
        && series[index + 1].points == series[index].points;
    return series[isRepeated ? index + 1 : index].name;
}

void labelChosen(ChartSeries& series, const QSet<QString>& names)
{
    if (series.style != SeriesStyle::Points || series.labels.isEmpty())
        return;
    series.pointNames.clear();
    for (int i = 0; i < series.labels.size(); ++i)
        if (names.contains(series.labels[i]))
            series.pointNames.emplace_back(i, series.labels[i]);
}

/// Returns the series in the chosen order, without the hidden ones and, unless asked for, without the marks of the
/// selection. They keep their colours and shapes.
std::vector<ChartSeries> onPaper(const std::vector<ChartSeries>& shown, const FigureEdits& edits)
{
    struct Ranked {
        std::ptrdiff_t rank;
        ChartSeries series;
    };
    std::vector<Ranked> kept;
    for (std::size_t i = 0; i < shown.size(); ++i) {
        const std::string name = choiceName(shown, i).toStdString();
        const auto choice = std::ranges::find(edits.series, name, &FigureSeriesChoice::name);
        const bool isHidden = !shown[i].isSelection && choice != edits.series.end() && !choice->shown;
        if (isHidden || (shown[i].isSelection && !edits.selection))
            continue;
        kept.push_back({choice - edits.series.begin(), shown[i]});
        kept.back().series.place = placeOf(shown, i);
    }
    std::ranges::stable_sort(kept, {}, &Ranked::rank);
    QSet<QString> labels;
    for (const std::string& label : edits.labels)
        labels.insert(text(label));
    std::vector<ChartSeries> series;
    for (Ranked& one : kept) {
        if (!labels.isEmpty())
            labelChosen(one.series, labels);
        series.push_back(std::move(one.series));
    }
    return series;
}

ChartFrame paperFrame(const ChartContent& content, const QRectF& range, const QRectF& page,
                      const FigureStyle& style, const QPaintDevice* device)
{
    const QFont font = figureFont(style);
    const double edge = style.lineWidth; // Lines at the edge of the plot are drawn whole.
    ChartFrame paper{.plot = page.marginsRemoved(style.axes ? chartMargins(content.look, font, device)
                                                            : QMarginsF(edge, edge, edge, edge)),
                     .range = range,
                     .look = content.look,
                     .font = font,
                     .colors = lightColors(),
                     .hairline = 0.5 * style.lineWidth,
                     .isPaper = true};
    for (const ChartBaseline& baseline : content.baselines)
        paper.levels.push_back(baseline.y);
    if (style.axes)
        makeRoomForLabels(paper, device); // first: the names are as wide as the plot is then
    makeRoomForNames(paper, content, device);
    paper.range = equalUnits(paper);
    return paper;
}

/// Moves the bars of several series side by side, unless they would be too thin.
/// \returns the part of the usual width that each then has
double standSideBySide(ChartContent& content, const ChartFrame& frame)
{
    constexpr double thinnest = 1.5, widest = 32; // points
    double group = 0.8 * frame.range.width();
    std::vector<ChartSeries*> bars;
    for (ChartSeries& series : content.series)
        if (series.style == SeriesStyle::Bars) {
            bars.push_back(&series);
            group = std::min(group, barWidth(series, content.look));
        }
    const auto count = static_cast<double>(bars.size());
    const double width = group / frame.range.width() * frame.plot.width();
    if (bars.size() < 2 || content.look.xScale == ChartLook::Scale::Log || width < count * thinnest)
        return 1;
    const double share = std::min(1.0, widest * count / width);
    group *= share;
    for (std::size_t i = 0; i < bars.size(); ++i) {
        const double shift = ((static_cast<double>(i) + 0.5) / count - 0.5) * group;
        for (QPointF& point : bars[i]->points)
            point.rx() += shift;
    }
    return share / count;
}

PaperChart paperChart(const ChartContent& shown, const QRectF& range, const QRectF& page,
                      const FigureStyle& style, const QPaintDevice* device)
{
    ChartContent content = contentOnPaper(shown, style);
    const double share = standSideBySide(content, paperFrame(content, range, page, style, device));
    PaperChart chart{content, paperFrame(content, range, page, style, device), share};
    if (!moveBaselineNames(chart.frame, chart.content, device))
        return chart;
    const ChartFrame frame = paperFrame(chart.content, range, page, style, device);
    return {std::move(chart.content), frame, share};
}

} // namespace

ChartContent contentOnPaper(const ChartContent& shown, const FigureStyle& style)
{
    ChartContent content = shown;
    content.series = onPaper(shown.series, style.edits);
    return content;
}

PaperChart paintChartOnPaper(QPainter& painter, const ChartContent& shown, const QRectF& range,
                             const QRectF& page, const FigureStyle& style)
{
    PaperChart chart = paperChart(shown, range, page, style, painter.device());
    const ChartContent& content = chart.content;
    const ChartFrame& paper = chart.frame;
    painter.setFont(paper.font);
    if (style.axes)
        paintChartAxes(painter, paper);
    paintChartErrors(painter, paper, content.series);
    paintChartBrackets(painter, paper, content.brackets);
    for (std::size_t i = 0; i < content.series.size(); ++i) {
        const ChartSeries& series = content.series[i];
        const int place = placeOf(content.series, i);
        // Bars behind each other become narrower.
        const int nested = chart.barShare < 1 ? 0 : static_cast<int>(i);
        const int shape = series.style == SeriesStyle::Bars ? nested : place;
        paintChartSeries(painter, paper, series,
                         {.color = seriesColor(place, paper.colors),
                          .shape = shape,
                          .lineWidth = style.lineWidth,
                          .dashes = dashesOf(paper, content.series, i),
                          .barShare = chart.barShare});
    }
    paintChartBaselines(painter, paper, content); // in front of bars, as on the screen
    paintChartLegend(painter, paper, content.series);
    paintPointNames(painter, paper, content.series, baselineNames(paper, content, painter.device()));
    return chart;
}

QRectF chartPlotOnPaper(const ChartContent& shown, const QRectF& range, const QRectF& page,
                        const FigureStyle& style)
{
    const PaintRecording device(page.size(), std::nullopt);
    return paperChart(shown, range, page, style, &device).frame.plot;
}

FigureParts chartParts(const std::vector<ChartSeries>& series)
{
    FigureParts parts;
    for (const ChartSeries& one : series) {
        parts.hasSelection = parts.hasSelection || (one.isSelection && !one.points.isEmpty());
        if (one.isSelection)
            continue;
        if (!one.name.isEmpty() && !parts.series.contains(one.name))
            parts.series << one.name;
        if (one.style == SeriesStyle::Points)
            parts.points += one.labels;
    }
    return parts;
}

QStringList chartOmissions(const ChartContent& shown, const QRectF& range, const QRectF& page,
                           const FigureStyle& style)
{
    const PaintRecording device(page.size(), std::nullopt);
    const PaperChart chart = paperChart(shown, range, page, style, &device);
    const ChartContent& content = chart.content;
    const ChartFrame& paper = chart.frame;
    QStringList said;
    if (const int step = style.axes ? nameStep(paper, &device) : 1; step > 1)
        said << LineChart::tr("only 1 in %1 names on the x axis fits").arg(step);
    if (style.axes && !areTitlesWhole(paper, &device))
        said << LineChart::tr("an axis title is shortened");
    if (const int hidden = namesWithoutRoom(paper, content.series, &device); hidden > 0)
        said << (hidden == 1 ? LineChart::tr("a name in the legend does not fit")
                             : LineChart::tr("%1 names in the legend do not fit").arg(hidden));
    std::size_t names = 0;
    for (const ChartSeries& one : content.series)
        names += one.pointNames.size();
    const auto placed =
        placedPointNames(paper, content.series, baselineNames(paper, content, &device), &device).size();
    if (placed < names)
        said << LineChart::tr("only %1 of %2 point labels fit").arg(placed).arg(names);
    return said;
}

} // namespace headwise::ui
