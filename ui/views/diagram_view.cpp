#include "ui/views/diagram_view.h"

#include "ui/figure_export_title.h"
#include "ui/text.h"

#include <QApplication>
#include <QFontMetricsF>
#include <QMouseEvent>
#include <QPainter>
#include <QPainterPath>

#include <algorithm>
#include <cmath>

namespace headwise::ui {

namespace {

constexpr double margin = 14;
constexpr double reach = 14; // px from the mouse to the head it means
constexpr std::size_t described = 4;

} // namespace

DiagramView::DiagramView(QWidget* parent)
    : QWidget(parent)
{
    setMouseTracking(true);
    setMinimumHeight(160);
}

void DiagramView::setHeads(int layers, int headsInLayer)
{
    m_layers = layers;
    m_heads = headsInLayer;
    update();
}

void DiagramView::setEdges(const std::vector<DiagramEdge>& edges)
{
    m_edges = edges;
    update();
}

void DiagramView::setCurrent(HeadId head)
{
    m_current = head;
    update();
}

void DiagramView::setMessage(const QString& message)
{
    m_message = message;
    update();
}

QPointF DiagramView::place(HeadId head, const QRectF& area) const
{
    const double across = area.width() / std::max(1, m_heads);
    const double down = m_layers > 1 ? area.height() / (m_layers - 1) : 0;
    return {area.left() + (head.head + 0.5) * across,
            m_layers > 1 ? area.top() + head.layer * down : area.center().y()};
}

namespace {

QRectF nodesArea(const QRectF& all, const QFontMetricsF& metrics)
{
    const double labels = metrics.horizontalAdvance(QStringLiteral("layer 00")) + 8;
    return all.adjusted(labels, margin, -margin, -margin - metrics.height());
}

} // namespace

QPointF DiagramView::positionOf(HeadId head) const
{
    return place(head, nodesArea(QRectF(rect()), QFontMetricsF(secondaryFont(), this)));
}

void DiagramView::paint(QPainter& painter, const QRectF& all, const Look& look) const
{
    const auto& [font, colors, lineWidth, hasLabels] = look;
    const QFontMetricsF metrics(font, painter.device());
    const QRectF area = nodesArea(all, metrics);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setFont(font);
    double largest = 0;
    for (const DiagramEdge& edge : m_edges)
        largest = std::max(largest, std::abs(edge.value));
    const auto touches = [](const DiagramEdge& edge, HeadId head) {
        return edge.from == head || edge.to == head;
    };
    for (auto edge = m_edges.rbegin(); edge != m_edges.rend(); ++edge) { // the strongest on top
        const bool faint = m_hovered && !touches(*edge, *m_hovered);
        const double strength = largest > 0 ? std::abs(edge->value) / largest : 0;
        QColor color = colors.categorical[edge->value < 0 ? 1 : 0];
        color.setAlphaF(faint ? 0.08F : static_cast<float>(0.35 + 0.6 * strength));
        painter.setPen(
            QPen(color, lineWidth * (0.6 + 3 * strength), edge->value < 0 ? Qt::DashLine : Qt::SolidLine));
        painter.setBrush(Qt::NoBrush);
        const QPointF from = place(edge->from, area);
        const QPointF to = place(edge->to, area);
        const double half = (from.y() - to.y()) / 2;
        QPainterPath path(from);
        path.cubicTo(from - QPointF(0, half), to + QPointF(0, half), to);
        painter.drawPath(path);
    }
    const double across = area.width() / std::max(1, m_heads);
    const double radius = std::clamp(across / 3, 2.0, 6.0);
    for (int layer = 0; layer < m_layers; ++layer) {
        painter.setPen(colors.muted);
        const double y = place({layer, 0}, area).y();
        if (hasLabels)
            painter.drawText(QPointF(all.left() + 4, y + metrics.ascent() / 2 - 1),
                             tr("layer %1").arg(layer));
        for (int head = 0; head < m_heads; ++head) {
            const HeadId id{layer, head};
            const bool chosen = id == m_current || m_hovered == id;
            painter.setPen(QPen(chosen ? colors.accent : colors.muted, lineWidth * (chosen ? 2 : 1)));
            painter.setBrush(id == m_current ? colors.accent : colors.base);
            painter.drawEllipse(place(id, area), radius, radius);
        }
    }
    if (!hasLabels)
        return;
    painter.setPen(colors.muted);
    const double room = metrics.horizontalAdvance(QStringLiteral("00")) + 4;
    const int step = std::max(1, static_cast<int>(std::ceil(room / std::max(1.0, across))));
    for (int head = 0; head < m_heads; head += step) {
        const QString label = QString::number(head);
        painter.drawText(
            QPointF(place({0, head}, area).x() - metrics.horizontalAdvance(label) / 2, all.bottom() - 4),
            label);
    }
}

void DiagramView::paintEvent(QPaintEvent* /*event*/)
{
    QPainter painter(this);
    const ThemeColors& colors = themeColors(palette());
    if (!m_edges.empty())
        return paint(painter, QRectF(rect()), {secondaryFont(), colors, 1, true});
    painter.setPen(colors.muted);
    painter.drawText(rect().adjusted(12, 12, -12, -12), Qt::AlignCenter | Qt::TextWordWrap, m_message);
}

std::optional<HeadId> DiagramView::headAt(const QPointF& position) const
{
    std::optional<HeadId> nearest;
    double closest = reach;
    for (int layer = 0; layer < m_layers; ++layer)
        for (int head = 0; head < m_heads; ++head) {
            const QPointF away = positionOf({layer, head}) - position;
            const double distance = std::hypot(away.x(), away.y());
            if (distance < closest) {
                closest = distance;
                nearest = HeadId{layer, head};
            }
        }
    return nearest;
}

QString DiagramView::describe(HeadId head) const
{
    QStringList parts{text(head)};
    for (const DiagramEdge& edge : m_edges) {
        if (edge.from == head)
            parts << QStringLiteral("→ %1 %2").arg(text(edge.to), number(edge.value));
        else if (edge.to == head)
            parts << QStringLiteral("← %1 %2").arg(text(edge.from), number(edge.value));
        if (parts.size() > static_cast<qsizetype>(described))
            break;
    }
    return parts.join(QStringLiteral("   "));
}

void DiagramView::mouseMoveEvent(QMouseEvent* event)
{
    const auto head = headAt(event->position());
    if (head == m_hovered)
        return;
    m_hovered = head;
    emit headHovered(head ? describe(*head) : QString());
    update();
}

void DiagramView::mousePressEvent(QMouseEvent* event)
{
    const auto head = headAt(event->position());
    if (head && event->button() == Qt::LeftButton)
        emit headClicked(*head);
}

void DiagramView::leaveEvent(QEvent* /*event*/)
{
    m_hovered.reset();
    emit headHovered({});
    update();
}

void DiagramView::paintFigure(QPainter& painter, const QSizeF& size, const FigureStyle& style) const
{
    QRectF area(QPointF(), size);
    area.setTop(paintFigureTitle(painter, *this, size.width(), style));
    paint(painter, area, {figureFont(style), lightColors(), style.lineWidth, style.axes});
}

void DiagramView::forEachDataRow(const std::function<void(const QStringList&)>& writeRow) const
{
    writeRow({QStringLiteral("from"), QStringLiteral("to"), QStringLiteral("value")});
    for (const DiagramEdge& edge : m_edges)
        writeRow({text(edge.from), text(edge.to), exactNumber(edge.value)});
}

} // namespace headwise::ui
