#include "ui/charts/chart_canvas.h"

#include <QChart>
#include <QGraphicsLayout>
#include <QLegend>
#include <QLineSeries>
#include <QPainter>
#include <QScatterSeries>
#include <QValueAxis>

#include <cmath>

namespace headwise::ui {

namespace {

QScatterSeries::MarkerShape markerShape(int index)
{
    switch (index % 4) {
    case 0: return QScatterSeries::MarkerShapeCircle;
    case 1: return QScatterSeries::MarkerShapeRectangle;
    case 2: return QScatterSeries::MarkerShapeRotatedRectangle;
    default: return QScatterSeries::MarkerShapeTriangle;
    }
}

QXYSeries* made(const ChartSeries& series, int index, const ThemeColors& colors, QObject* parent)
{
    const QColor color = seriesColor(index, colors);
    if (series.style == SeriesStyle::Points) {
        auto* scatter = new QScatterSeries(parent);
        QColor fill = color;
        fill.setAlphaF(0.8F);
        scatter->setMarkerShape(markerShape(index));
        scatter->setMarkerSize(7);
        scatter->setColor(fill);
        scatter->setBorderColor(Qt::transparent);
        return scatter;
    }
    auto* line = new QLineSeries(parent);
    line->setPen(QPen(color, 1.5, series.style == SeriesStyle::Dashed ? Qt::DashLine : Qt::SolidLine));
    return line;
}

constexpr qsizetype manyPoints = 500;

// True for series that we paint ourselves. Qt Charts makes an item of every marker, all in one colour, and strokes lines
// again for the mouse: too slow for clouds and for lines that follow a slider.
bool isPainted(const ChartSeries& series)
{
    return series.style == SeriesStyle::Bars || series.style == SeriesStyle::Boxes || !series.shades.empty()
        || series.points.size() > manyPoints;
}

} // namespace

ChartCanvas::ChartCanvas(QWidget* parent)
    : QChartView(parent)
    , m_x(new QValueAxis(this))
    , m_y(new QValueAxis(this))
{
    setRenderHint(QPainter::Antialiasing);
    setFrameShape(QFrame::NoFrame);
    setBackgroundBrush(Qt::NoBrush);
    viewport()->setAutoFillBackground(false);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    chart()->legend()->hide();
    chart()->setBackgroundVisible(false);
    chart()->setDropShadowEnabled(false);
    chart()->setMargins({});
    chart()->layout()->setContentsMargins(0, 0, 0, 0);
    for (QValueAxis* axis : {m_x, m_y}) {
        axis->setVisible(false);
        chart()->addAxis(axis, axis == m_x ? Qt::AlignBottom : Qt::AlignLeft);
    }
}

int ChartCanvas::showSeries(const ChartContent& content, const ThemeColors& colors)
{
    chart()->removeAllSeries();
    int omitted = 0;
    for (std::size_t i = 0; i < content.series.size(); ++i) {
        const ChartSeries& given = content.series[i];
        QList<QPointF> shown;
        for (const QPointF& point : given.points) {
            const QPointF at = shownPoint(point, content.look);
            if (!std::isnan(at.x()))
                shown << at;
        }
        omitted += static_cast<int>(given.points.size() - shown.size());
        if (isPainted(given))
            continue;
        QXYSeries* series = made(given, static_cast<int>(i), colors, chart());
        series->replace(shown);
        chart()->addSeries(series);
        series->attachAxis(m_x);
        series->attachAxis(m_y);
    }
    return omitted;
}

void ChartCanvas::setFrame(const ChartFrame& frame)
{
    chart()->setPlotArea(frame.plot);
    m_x->setRange(frame.range.left(), frame.range.right());
    m_y->setRange(frame.range.top(), frame.range.bottom());
    resetCachedContent();
    viewport()->update();
}

void ChartCanvas::paintLargeSeries(QPainter& painter, const ChartFrame& frame,
                                   const std::vector<ChartSeries>& series)
{
    for (std::size_t i = 0; i < series.size(); ++i)
        if (isPainted(series[i]))
            paintChartSeries(painter, frame, series[i],
                             {seriesColor(static_cast<int>(i), frame.colors), static_cast<int>(i), 2,
                              series[i].points.size() > manyPoints});
}

void ChartCanvas::drawBackground(QPainter* painter, const QRectF& rect)
{
    QChartView::drawBackground(painter, rect);
    if (paintBehind)
        paintBehind(*painter);
}

void ChartCanvas::drawForeground(QPainter* painter, const QRectF& rect)
{
    QChartView::drawForeground(painter, rect);
    if (paintInFront)
        paintInFront(*painter);
}

} // namespace headwise::ui
