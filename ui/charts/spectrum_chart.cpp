#include "ui/charts/spectrum_chart.h"

#include "ui/base/text.h"
#include "ui/charts/chart_painter.h"
#include "ui/widgets/picture_accessible.h"

#include <QApplication>
#include <QChart>
#include <QChartView>
#include <QGraphicsLayout>
#include <QLineSeries>
#include <QMouseEvent>
#include <QPainter>
#include <QScatterSeries>
#include <QVBoxLayout>
#include <QValueAxis>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>

namespace headwise::ui {

namespace {

constexpr double spectrumChartWheelStep = 1.25;
constexpr double spectrumChartReach = 40; // px from the mouse to the point that is read out

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

/// Qt Charts draws the series. Axes, names and marks are painted by the same functions as on paper.
class ChartCanvas : public QChartView {
public:
    explicit ChartCanvas(QWidget* parent)
        : QChartView(parent)
        , x(new QValueAxis(this))
        , y(new QValueAxis(this))
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
        for (QValueAxis* axis : {x, y}) {
            axis->setVisible(false);
            chart()->addAxis(axis, axis == x ? Qt::AlignBottom : Qt::AlignLeft);
        }
    }

    std::function<void(QPainter&)> paintBehind;
    std::function<void(QPainter&)> paintInFront;
    QValueAxis* x;
    QValueAxis* y;

protected:
    void drawBackground(QPainter* painter, const QRectF& rect) override
    {
        QChartView::drawBackground(painter, rect);
        if (paintBehind)
            paintBehind(*painter);
    }
    void drawForeground(QPainter* painter, const QRectF& rect) override
    {
        QChartView::drawForeground(painter, rect);
        if (paintInFront)
            paintInFront(*painter);
    }
};

LineChart::LineChart(QWidget* parent)
    : QWidget(parent)
    , m_message(tr("Nothing to show yet"))
    , m_canvas(new ChartCanvas(this))
{
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins({});
    layout->addWidget(m_canvas);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
    m_canvas->viewport()->installEventFilter(this);
    m_canvas->setFocusPolicy(Qt::NoFocus);
    installPictureAccessibility();
    setFocusPolicy(Qt::TabFocus); // a click leaves keyboard focus with the page
    m_canvas->viewport()->setMouseTracking(true);
    m_canvas->paintBehind = [this](QPainter& painter) {
        if (m_series.empty())
            return;
        const ChartFrame now = frame();
        paintChartAxes(painter, now);
        painter.setRenderHint(QPainter::Antialiasing);
        for (std::size_t i = 0; i < m_series.size(); ++i)
            if (isPainted(m_series[i]))
                paintChartSeries(painter, now, m_series[i],
                                 {seriesColor(static_cast<int>(i), now.colors), static_cast<int>(i), 2,
                                  m_series[i].points.size() > manyPoints});
    };
    m_canvas->paintInFront = [this](QPainter& painter) { paintForeground(painter); };
}

void LineChart::setLook(const ChartLook& look)
{
    if (look == m_look)
        return;
    m_look = look;
    rebuild();
    resetZoom();
}

void LineChart::setSeries(const std::vector<ChartSeries>& series)
{
    m_series = series;
    m_hovered = {}; // it pointed into the old series
    rebuild();
    resetZoom();
}

void LineChart::setBrackets(const std::vector<ChartBracket>& brackets)
{
    m_brackets = brackets;
    m_canvas->viewport()->update();
}

void LineChart::setBaselines(const std::vector<ChartBaseline>& baselines)
{
    m_baselines = baselines;
    resetZoom();
}

void LineChart::setMessage(const QString& message)
{
    m_message = message;
    m_canvas->viewport()->update();
}

void LineChart::rebuild()
{
    m_canvas->chart()->removeAllSeries();
    m_omitted = 0;
    m_hovered = {};
    const ThemeColors& colors = themeColors(palette());
    for (std::size_t i = 0; i < m_series.size(); ++i) {
        QList<QPointF> shown;
        for (const QPointF& point : m_series[i].points) {
            const QPointF at = shownPoint(point, m_look);
            if (!std::isnan(at.x()))
                shown << at;
        }
        m_omitted += static_cast<int>(m_series[i].points.size() - shown.size());
        if (isPainted(m_series[i]))
            continue;
        QXYSeries* series = made(m_series[i], static_cast<int>(i), colors, m_canvas->chart());
        series->replace(shown);
        m_canvas->chart()->addSeries(series);
        series->attachAxis(m_canvas->x);
        series->attachAxis(m_canvas->y);
    }
    layOut();
}

void LineChart::resetZoom()
{
    placeLegend();
    setRange(fullRange());
}

void LineChart::setRange(const QRectF& range)
{
    if (!(range.width() > 0 && range.height() > 0))
        return;
    const bool changed = range != m_range;
    m_range = range;
    layOut();
    if (changed)
        emit rangeChanged(m_range);
}

ChartFrame LineChart::frame() const
{
    const QFont font = secondaryFont();
    ChartFrame frame{.plot = QRectF(rect()).marginsRemoved(chartMargins(m_look, font, this)),
                     .range = m_range,
                     .look = m_look,
                     .font = font,
                     .colors = themeColors(palette()),
                     .legend = m_legend};
    frame.plot.setTop(frame.plot.top() + m_legend);
    frame.range = equalUnits(frame);
    return frame;
}

void LineChart::layOut()
{
    const ChartFrame now = frame();
    if (now.plot.width() <= 0 || now.plot.height() <= 0)
        return;
    m_canvas->chart()->setPlotArea(now.plot);
    m_canvas->x->setRange(now.range.left(), now.range.right());
    m_canvas->y->setRange(now.range.top(), now.range.bottom());
    m_canvas->resetCachedContent();
    m_canvas->viewport()->update();
}

void LineChart::paintForeground(QPainter& painter) const
{
    const ChartFrame now = frame();
    const bool empty = std::ranges::all_of(m_series, [](const ChartSeries& s) { return s.points.isEmpty(); });
    if (empty) {
        painter.setPen(now.colors.muted);
        painter.drawText(QRectF(rect()).adjusted(12, 12, -12, -12), Qt::AlignCenter | Qt::TextWordWrap,
                         m_message);
        return;
    }
    if (m_hasRing) {
        painter.setPen(QPen(now.colors.accent, 1));
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5));
    }
    paintChartBaselines(painter, now, m_baselines);
    paintChartErrors(painter, now, m_series);
    paintChartBrackets(painter, now, m_brackets);
    paintChartLegend(painter, now, m_series);
    paintChartNote(painter, now, omittedNote());
    if (m_hovered.series < 0 || !std::isfinite(m_hovered.point.y()))
        return;
    const QPointF at = now.map(m_hovered.point);
    painter.setPen(QPen(now.colors.muted, 1, Qt::DotLine));
    painter.drawLine(QPointF(at.x(), now.plot.top()), QPointF(at.x(), now.plot.bottom()));
    painter.drawLine(QPointF(now.plot.left(), at.y()), QPointF(now.plot.right(), at.y()));
    painter.setPen(QPen(now.colors.base, 1.5));
    painter.setBrush(seriesColor(m_hovered.series, now.colors));
    paintMarker(painter, at, m_hovered.series, 9);
}

QPointF LineChart::positionOf(const QPointF& point) const
{
    return frame().map(shownPoint(point, m_look));
}

LineChart::Nearest LineChart::nearestTo(const QPointF& position) const
{
    const ChartFrame now = frame();
    Nearest nearest;
    double closest = spectrumChartReach;
    for (std::size_t i = 0; i < m_series.size(); ++i) {
        const QVector<QPointF>& points = m_series[i].points;
        for (qsizetype k = 0; k < points.size(); ++k) {
            const QPointF shown = shownPoint(points[k], m_look);
            const QPointF away = now.map(shown) - position;
            const double distance = std::hypot(away.x(), away.y());
            if (distance < closest) { // False for NaN.
                closest = distance;
                nearest = {static_cast<int>(i), static_cast<int>(k), shown};
            }
        }
    }
    return nearest;
}

void LineChart::hover(const QPointF& position)
{
    hoverOn(nearestTo(position));
}

void LineChart::hoverOn(const Nearest& nearest)
{
    const bool same = nearest.series == m_hovered.series && nearest.index == m_hovered.index;
    m_hovered = nearest;
    if (same)
        return;
    setProperty(currentPointProperty, QPoint(nearest.series, nearest.index));
    m_canvas->viewport()->update();
    if (nearest.series < 0)
        return emit hoverLeft();
    const ChartSeries& series = m_series[static_cast<std::size_t>(nearest.series)];
    emit pointHovered(series.name, nearest.index, series.points[nearest.index]);
}

void LineChart::zoomAt(const QPointF& position, double factorX, double factorY)
{
    const ChartFrame now = frame();
    const QPointF at = now.unmap(position);
    const QSizeF size(now.range.width() / factorX, now.range.height() / factorY);
    const double u = (at.x() - now.range.left()) / now.range.width();
    const double v = (at.y() - now.range.top()) / now.range.height();
    const QRectF wanted(at.x() - u * size.width(), at.y() - v * size.height(), size.width(), size.height());
    if (m_look.plane != ChartLook::Plane::Free)
        return setRange(wanted);
    const QRectF full = fullRange();
    // Never zooms out past the full range.
    const double width = std::min(wanted.width(), full.width());
    const double height = std::min(wanted.height(), full.height());
    setRange({std::clamp(wanted.left(), full.left(), full.right() - width),
              std::clamp(wanted.top(), full.top(), full.bottom() - height), width, height});
}

bool LineChart::eventFilter(QObject* /*watched*/, QEvent* event)
{
    auto* mouse = static_cast<QMouseEvent*>(event); // Valid only if the type matches.
    switch (event->type()) {
    case QEvent::Wheel: {
        auto* wheel = static_cast<QWheelEvent*>(event);
        const QPoint delta = wheel->angleDelta();
        const double factor =
            std::pow(spectrumChartWheelStep, (delta.y() != 0 ? delta.y() : delta.x()) / 120.0);
        const bool vertical = wheel->modifiers().testFlag(Qt::ShiftModifier);
        const bool both = m_look.plane != ChartLook::Plane::Free;
        zoomAt(wheel->position(), vertical && !both ? 1 : factor, vertical || both ? factor : 1);
        return true;
    }
    case QEvent::MouseButtonPress:
        m_dragging = false;
        if (mouse->button() == Qt::LeftButton)
            m_pressed = m_lastDrag = mouse->position();
        return true;
    case QEvent::MouseMove: {
        const QPointF position = mouse->position();
        m_dragging = m_dragging
            || (m_pressed && (position - *m_pressed).manhattanLength() >= QApplication::startDragDistance());
        if (!m_dragging)
            return hover(position), true;
        const ChartFrame now = frame();
        setRange(now.range.translated(now.unmap(m_lastDrag) - now.unmap(position)));
        m_lastDrag = position;
        return true;
    }
    case QEvent::MouseButtonRelease: {
        const Nearest nearest = nearestTo(mouse->position());
        const bool clicked = m_pressed && !m_dragging && nearest.series >= 0;
        m_pressed.reset();
        m_dragging = false;
        if (clicked)
            emit pointClicked(m_series[static_cast<std::size_t>(nearest.series)].name, nearest.index);
        return true;
    }
    case QEvent::MouseButtonDblClick: return resetZoom(), true;
    case QEvent::Leave:
        m_hovered = {};
        m_canvas->viewport()->update();
        emit hoverLeft();
        return false;
    default: return false;
    }
}

void LineChart::changeEvent(QEvent* event)
{
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) {
        placeLegend();
        rebuild();
    }
    QWidget::changeEvent(event);
}

void LineChart::resizeEvent(QResizeEvent* /*event*/)
{
    placeLegend();
    layOut();
}

} // namespace headwise::ui
