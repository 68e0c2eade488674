#include "ui/charts/chart_cursor.h"

#include "ui/charts/chart_painter.h"

#include <QAbstractScrollArea>
#include <QApplication>
#include <QFontMetricsF>
#include <QMouseEvent>
#include <QPainter>

#include <algorithm>
#include <cmath>
#include <utility>

namespace headwise::ui {

namespace {

constexpr double cursorReach = 5; // px from the mouse to the line that it takes
constexpr double cursorGap = 4;   // px

} // namespace

ChartCursor::ChartCursor(LineChart* chart)
    : QWidget(chart)
    , m_chart(chart)
    , m_canvas(chart->findChild<QAbstractScrollArea*>()->viewport())
{
    setAttribute(Qt::WA_TransparentForMouseEvents);
    setFocusPolicy(Qt::NoFocus);
    setGeometry(chart->rect());
    raise();
    show();
    chart->installEventFilter(this);
    m_canvas->installEventFilter(this); // before the chart's own
    connect(chart, &LineChart::rangeChanged, this, qOverload<>(&QWidget::update));
}

void ChartCursor::setPlace(std::optional<double> x, const QString& name)
{
    m_place = x;
    m_name = name;
    setAccessibleName(name);
    update();
}

QRectF ChartCursor::line() const
{
    const bool isEmpty =
        std::ranges::all_of(m_chart->series(), [](const ChartSeries& one) { return one.points.isEmpty(); });
    if (!m_place || isEmpty)
        return {};
    const ChartFrame frame = m_chart->frame();
    const double x = frame.map(shownPoint({*m_place, 1}, frame.look)).x();
    if (!(x >= frame.plot.left() - 0.5 && x <= frame.plot.right() + 0.5)) // false for NaN
        return {};
    return {x - cursorReach, frame.plot.top(), 2 * cursorReach, frame.plot.height()};
}

bool ChartCursor::isNear(const QPointF& position) const
{
    return line().contains(position);
}

void ChartCursor::moveTo(const QPointF& position)
{
    const ChartFrame frame = m_chart->frame();
    const double at = std::clamp(frame.unmap(position).x(), frame.range.left(), frame.range.right());
    emit moved(frame.look.xScale == ChartLook::Scale::Log ? std::pow(10, at) : at);
}

bool ChartCursor::eventFilter(QObject* watched, QEvent* event)
{
    if (watched == m_chart) {
        if (event->type() == QEvent::Resize)
            setGeometry(m_chart->rect());
        return false;
    }
    if (!m_place)
        return false;
    const auto* mouse = static_cast<QMouseEvent*>(event); // Valid only if the type matches.
    switch (event->type()) {
    case QEvent::MouseButtonPress:
        m_pressed.reset();
        if (mouse->button() == Qt::LeftButton)
            m_pressed = mouse->position();
        m_isDragged = m_pressed && isNear(*m_pressed);
        return m_isDragged;
    case QEvent::MouseMove:
        if (m_isDragged)
            return moveTo(mouse->position()), true;
        m_canvas->setCursor(isNear(mouse->position()) ? Qt::SplitHCursor : Qt::ArrowCursor);
        return false;
    case QEvent::MouseButtonRelease: {
        const std::optional<QPointF> pressed = std::exchange(m_pressed, std::nullopt);
        const bool isDragged = std::exchange(m_isDragged, false);
        const bool isClick = pressed
            && (mouse->position() - *pressed).manhattanLength() < QApplication::startDragDistance()
            && m_chart->frame().plot.contains(mouse->position());
        if (isDragged || isClick)
            moveTo(mouse->position());
        return isDragged;
    }
    default: return false;
    }
}

void ChartCursor::paintEvent(QPaintEvent* /*event*/)
{
    const QRectF area = line();
    if (area.isEmpty())
        return;
    const ChartFrame frame = m_chart->frame();
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setFont(frame.font);
    const QFontMetricsF metrics(frame.font, this);
    const double x = area.center().x(), width = metrics.horizontalAdvance(m_name);
    painter.setPen(QPen(frame.colors.accent, 1.5));
    painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()));
    const bool fits = x + cursorGap + width <= frame.plot.right();
    const QRectF name(fits ? x + cursorGap : x - cursorGap - width,
                      area.bottom() - cursorGap - metrics.height(), width, metrics.height());
    QColor veil = frame.colors.base;
    veil.setAlphaF(0.85F);
    painter.fillRect(name, veil);
    painter.drawText(QPointF(name.left(), name.top() + metrics.ascent()), m_name);
}

} // namespace headwise::ui
