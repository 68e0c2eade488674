#include "ui/charts/spectrum_chart.h"

#include "ui/base/text.h"
#include "ui/charts/chart_canvas.h"
#include "ui/charts/chart_content.h"
#include "ui/charts/chart_pointer.h"
#include "ui/figures/figure_export_title.h"
#include "ui/figures/figure_recording.h"
#include "ui/widgets/picture_accessible.h"

#include <QKeyEvent>
#include <QPainter>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

namespace headwise::ui {

LineChart::LineChart(QWidget* parent)
    : QWidget(parent)
    , m_message(tr("Nothing to show yet"))
    , m_canvas(new ChartCanvas(this))
    , m_pointer(std::make_unique<ChartPointer>(this, m_canvas->viewport()))
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
        if (m_content.series.empty())
            return;
        const ChartFrame now = frame();
        paintChartAxes(painter, now);
        painter.setRenderHint(QPainter::Antialiasing);
        ChartCanvas::paintLargeSeries(painter, now, m_content.series);
    };
    m_canvas->paintInFront = [this](QPainter& painter) { paintForeground(painter); };
}

LineChart::~LineChart() = default;

void LineChart::setLook(const ChartLook& look)
{
    if (look == m_content.look)
        return;
    m_content.look = look;
    rebuild();
    resetZoom();
}

void LineChart::setSeries(const std::vector<ChartSeries>& series)
{
    m_content.series = series;
    rebuild();
    resetZoom();
}

void LineChart::setBrackets(const std::vector<ChartBracket>& brackets)
{
    m_content.brackets = brackets;
    m_canvas->viewport()->update();
}

void LineChart::setBaselines(const std::vector<ChartBaseline>& baselines)
{
    m_content.baselines = baselines;
    resetZoom();
}

void LineChart::setMessage(const QString& message)
{
    m_message = message;
    m_canvas->viewport()->update();
}

void LineChart::rebuild()
{
    m_omitted = m_canvas->showSeries(m_content, themeColors(palette()));
    m_pointer->forget();
    layOut();
}

void LineChart::resetZoom()
{
    placeLegend();
    setRange(fullRange(m_content));
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
    ChartFrame frame{.plot = QRectF(rect()).marginsRemoved(chartMargins(m_content.look, font, this)),
                     .range = m_range,
                     .look = m_content.look,
                     .font = font,
                     .colors = themeColors(palette()),
                     .legend = m_legend,
                     .ends = m_ends};
    frame.plot.adjust(0, m_legend, -m_ends, 0);
    frame.range = equalUnits(frame);
    makeRoomForLabels(frame, this);
    return frame;
}

void LineChart::layOut()
{
    const ChartFrame now = frame();
    if (now.plot.width() <= 0 || now.plot.height() <= 0)
        return;
    m_canvas->setFrame(now);
}

void LineChart::paintForeground(QPainter& painter) const
{
    const ChartFrame now = frame();
    const bool empty =
        std::ranges::all_of(m_content.series, [](const ChartSeries& s) { return s.points.isEmpty(); });
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
    paintChartBaselines(painter, now, m_content);
    paintChartErrors(painter, now, m_content.series);
    paintChartBrackets(painter, now, m_content.brackets);
    paintChartLegend(painter, now, m_content.series);
    const std::vector<QRectF> baselines = baselineNames(now, m_content, painter.device());
    paintPointNames(painter, now, m_content.series, baselines);
    const std::vector<QRectF> names = namePlaces(now, m_content, painter.device());
    if (const QPointF lit = m_lit ? positionOf(*m_lit) : QPointF(-1, -1); now.plot.contains(lit)) {
        painter.setPen(QPen(now.colors.accent, 1));
        painter.setBrush(Qt::NoBrush);
        painter.drawEllipse(lit, 8, 8);
    }
    paintChartNote(painter, now, m_content.series, omittedNote(m_content, m_omitted), names);
    const ChartPoint& hovered = m_pointer->hovered();
    if (hovered.series < 0 || !std::isfinite(hovered.point.y()))
        return;
    const QPointF at = now.map(hovered.point);
    painter.setPen(QPen(now.colors.muted, 1, Qt::DotLine));
    painter.drawLine(QPointF(at.x(), now.plot.top()), QPointF(at.x(), now.plot.bottom()));
    painter.drawLine(QPointF(now.plot.left(), at.y()), QPointF(now.plot.right(), at.y()));
    painter.setPen(QPen(now.colors.base, 1.5));
    painter.setBrush(seriesColor(hovered.series, now.colors));
    paintMarker(painter, at, hovered.series, 9);
}

void LineChart::setLitPoint(const std::optional<QPointF>& point)
{
    if (std::exchange(m_lit, point) != point)
        m_canvas->update();
}

QPointF LineChart::positionOf(const QPointF& point) const
{
    return frame().map(shownPoint(point, m_content.look));
}

std::optional<std::pair<QString, int>> LineChart::pointAt(const QPointF& position) const
{
    const ChartPoint nearest = m_pointer->nearestTo(position);
    if (nearest.series < 0)
        return {};
    return std::pair(m_content.series[static_cast<std::size_t>(nearest.series)].name, nearest.index);
}

void LineChart::zoomAt(const QPointF& position, double factorX, double factorY)
{
    const ChartFrame now = frame();
    const QPointF at = now.unmap(position);
    const QSizeF size(now.range.width() / factorX, now.range.height() / factorY);
    const double u = (at.x() - now.range.left()) / now.range.width();
    const double v = (at.y() - now.range.top()) / now.range.height();
    const QRectF wanted(at.x() - u * size.width(), at.y() - v * size.height(), size.width(), size.height());
    if (m_content.look.plane != ChartLook::Plane::Free)
        return setRange(wanted);
    const QRectF full = fullRange(m_content);
    // Never zooms out past the full range.
    const double width = std::min(wanted.width(), full.width());
    const double height = std::min(wanted.height(), full.height());
    setRange({std::clamp(wanted.left(), full.left(), full.right() - width),
              std::clamp(wanted.top(), full.top(), full.bottom() - height), width, height});
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

bool LineChart::eventFilter(QObject* /*watched*/, QEvent* event)
{
    return m_pointer->handleMouse(event);
}

bool LineChart::event(QEvent* event)
{
    // Without this, 0 would open a page of the window.
    if (event->type() == QEvent::ShortcutOverride && static_cast<QKeyEvent*>(event)->key() == Qt::Key_0
        && static_cast<QKeyEvent*>(event)->modifiers() == Qt::NoModifier)
        event->accept();
    if (event->type() == QEvent::FocusIn || event->type() == QEvent::FocusOut) {
        m_hasRing = event->type() == QEvent::FocusIn;
        if (!m_hasRing)
            m_pointer->leave();
        update();
    }
    return QWidget::event(event);
}

void LineChart::keyPressEvent(QKeyEvent* event)
{
    if (!m_pointer->handleKey(event->key()))
        QWidget::keyPressEvent(event);
}

void LineChart::placeLegend()
{
    m_legend = m_ends = 0;
    ChartFrame all = frame();
    all.range = fullRange(m_content); // independent of the zoom
    all.range = equalUnits(all);
    makeRoomForNames(all, m_content, this);
    m_legend = all.legend;
    m_ends = all.ends;
}

void LineChart::paintFigure(QPainter& painter, const QSizeF& size, const FigureStyle& style) const
{
    const double top = paintFigureTitle(painter, *this, size.width(), style);
    const QRectF page(QPointF(0, top), QPointF(size.width(), size.height()));
    const PaperChart chart = paintChartOnPaper(painter, m_content, m_range, page, style);
    paintChartNote(painter, chart.frame, chart.content.series, omittedNote(m_content, m_omitted),
                   namePlaces(chart.frame, chart.content, painter.device()));
}

QStringList LineChart::omissions(const QSizeF& size, const FigureStyle& style) const
{
    PaintRecording paper(size, std::nullopt);
    QPainter painter(&paper);
    const double top = paintFigureTitle(painter, *this, size.width(), style);
    QStringList said =
        chartOmissions(m_content, m_range, {{0, top}, QPointF(size.width(), size.height())}, style);
    if (m_omitted > 0)
        said << omittedNote(m_content, m_omitted);
    return said;
}

std::optional<QRectF> LineChart::dataArea(const QSizeF& size, const FigureStyle& style) const
{
    PaintRecording paper(size, std::nullopt);
    QPainter painter(&paper);
    const double top = paintFigureTitle(painter, *this, size.width(), style);
    return chartPlotOnPaper(m_content, m_range, {{0, top}, QPointF(size.width(), size.height())}, style);
}

FigureParts LineChart::parts() const
{
    return chartParts(m_content.series);
}

void LineChart::forEachDataRow(const std::function<void(const QStringList&)>& writeRow) const
{
    writeChartRows(m_content, writeRow);
}

} // namespace headwise::ui
