#include "ui/base/text.h"
#include "ui/charts/chart_painter.h"
#include "ui/charts/spectrum_chart.h"
#include "ui/figures/figure_export_title.h"

#include <QApplication>
#include <QPainter>

#include <algorithm>
#include <cmath>

// The full range of a chart, and its export with the same painters at the paper's size.

namespace headwise::ui {

double LineChart::halfBar() const
{
    double half = 0;
    for (const ChartSeries& series : m_series)
        if (series.style == SeriesStyle::Bars && series.points.size() > 1)
            half = std::max(half, barWidth(series, m_look) / 2);
    return std::isfinite(half) ? half : 0;
}

QRectF LineChart::fullRange() const
{
    QRectF range;
    bool any = false;
    const auto include = [&](const QPointF& point) {
        if (std::isnan(point.x()) || std::isnan(point.y()))
            return;
        const QRectF dot(point, QSizeF(0, 0));
        range = any ? QRectF(QPointF(std::min(range.left(), point.x()), std::min(range.top(), point.y())),
                             QPointF(std::max(range.right(), point.x()), std::max(range.bottom(), point.y())))
                    : dot;
        any = true;
    };
    for (const ChartSeries& series : m_series)
        for (const QPointF& point : series.points) {
            include(shownPoint(point, m_look));
            if (series.style == SeriesStyle::Bars)
                include(shownPoint({point.x(), 0}, m_look)); // bars start at zero
        }
    for (const ChartSeries& series : m_series)
        for (std::size_t i = 0; series.hasBand && i < series.errors.size(); ++i)
            for (const double side : {-1.0, 1.0})
                include(shownPoint(series.points[static_cast<qsizetype>(i)]
                                       + QPointF(0, side * double{series.errors[i]}),
                                   m_look));
    if (!any)
        return {0, 0, 1, 1};
    for (const ChartBaseline& baseline : m_baselines)
        include({range.left(), shownPoint({1, baseline.y}, m_look).y()});
    if (m_look.plane == ChartLook::Plane::Complex)
        for (const QPointF& corner : {QPointF(-1, -1), QPointF(1, 1)})
            include(corner);
    if (m_look.plane == ChartLook::Plane::LogPolar) {
        const double reach =
            1.1 * std::max({1.0, -range.left(), range.right(), -range.top(), range.bottom()});
        return {-reach, -reach, 2 * reach, 2 * reach};
    }
    // A flat line or a single point still needs an extent.
    const double width = range.width() > 0 ? range.width() : 1;
    const double height = range.height() > 0 ? range.height() : std::max(1e-6, std::abs(range.top()));
    const bool plane = m_look.plane == ChartLook::Plane::Complex;
    const bool clouds =
        std::ranges::any_of(m_series, [](const ChartSeries& s) { return s.style >= SeriesStyle::Points; });
    const double padX = std::max((plane || clouds         ? 0.05
                                      : range.width() > 0 ? 0.0
                                                          : 0.5)
                                     * width,
                                 halfBar()); // so that the first and the last bar are whole
    return range.adjusted(-padX, -0.06 * height, padX, 0.06 * height);
}

void LineChart::placeLegend()
{
    m_legend = 0;
    ChartFrame all = frame();
    all.range = fullRange(); // independent of the zoom
    all.range = equalUnits(all);
    m_legend = legendAbove(all, m_series, this);
}

QString LineChart::omittedNote() const
{
    if (m_omitted == 0)
        return {};
    const bool isLog = m_look.yScale == ChartLook::Scale::Log || m_look.xScale == ChartLook::Scale::Log;
    const QString why = m_look.plane == ChartLook::Plane::LogPolar ? tr("too close to zero")
        : isLog                                                    ? tr("not above zero")
                                                                   : tr("not finite");
    return m_omitted == 1 ? tr("1 point is left out: %1").arg(why)
                          : tr("%1 points are left out: %2").arg(ui::count(m_omitted), why);
}

void LineChart::paintFigure(QPainter& painter, const QSizeF& size, const FigureStyle& style) const
{
    const QFont font = figureFont(style);
    const ThemeColors& colors = lightColors();
    QRectF area(QPointF(), size);
    area.setTop(paintFigureTitle(painter, *this, size.width(), style));
    painter.setFont(font);
    const double edge = style.lineWidth; // Lines at the edge of the plot are drawn whole.
    ChartFrame paper{.plot = area.marginsRemoved(style.axes ? chartMargins(m_look, font, painter.device())
                                                            : QMarginsF(edge, edge, edge, edge)),
                     .range = m_range,
                     .look = m_look,
                     .font = font,
                     .colors = colors,
                     .hairline = 0.5 * style.lineWidth};
    paper.legend = legendAbove(paper, m_series, painter.device());
    paper.plot.setTop(paper.plot.top() + paper.legend);
    paper.range = equalUnits(paper);
    if (style.axes)
        paintChartAxes(painter, paper);
    paintChartBaselines(painter, paper, m_baselines);
    paintChartErrors(painter, paper, m_series);
    paintChartBrackets(painter, paper, m_brackets);
    for (std::size_t i = 0; i < m_series.size(); ++i)
        paintChartSeries(painter, paper, m_series[i],
                         {seriesColor(static_cast<int>(i), colors), static_cast<int>(i), style.lineWidth});
    paintChartLegend(painter, paper, m_series);
    paintChartNote(painter, paper, omittedNote());
}

void LineChart::forEachDataRow(const std::function<void(const QStringList&)>& writeRow) const
{
    QStringList names{QStringLiteral("series"), m_look.xTitle.isEmpty() ? QStringLiteral("x") : m_look.xTitle,
                      m_look.yTitle.isEmpty() ? QStringLiteral("y") : m_look.yTitle};
    if (m_look.plane == ChartLook::Plane::LogPolar) // hidden points are exported all the same
        names = {names.front(), tr("real part"), tr("imaginary part")};
    const bool hasErrors =
        std::ranges::any_of(m_series, [](const ChartSeries& s) { return !s.errors.empty(); });
    writeRow(hasErrors ? names << QStringLiteral("error") : names);
    for (const ChartSeries& series : m_series)
        for (std::size_t i = 0; i < static_cast<std::size_t>(series.points.size()); ++i) {
            const QPointF& point = series.points[static_cast<qsizetype>(i)];
            QStringList row{series.name, exactNumber(point.x()), exactNumber(point.y())};
            if (hasErrors)
                row << (i < series.errors.size() ? exactNumber(series.errors[i]) : QString());
            writeRow(row);
        }
}

} // namespace headwise::ui
