#include "ui/charts/diagram_view.h"

#include "ui/base/color_choice.h"
#include "ui/base/text.h"
#include "ui/charts/chart_painter.h"
#include "ui/figures/figure_export_title.h"
#include "ui/widgets/picture_accessible.h"

#include <QApplication>
#include <QFontMetricsF>
#include <QMouseEvent>
#include <QPainter>
#include <QPainterPath>

#include <algorithm>
#include <cmath>

namespace headwise::ui {

namespace {

constexpr double diagramViewMargin = 14;
constexpr double diagramViewReach = 14; // px from the mouse to the nearest head
constexpr std::size_t described = 4;
constexpr double lineSign = 22, markerSign = 12; // widths of the samples before the legend's text

} // namespace

DiagramView::DiagramView(QWidget* parent)
    : QWidget(parent)
{
    connect(&ColorNews::instance(), &ColorNews::choiceChanged, this, qOverload<>(&QWidget::update));
    setMouseTracking(true);
    setMinimumHeight(160);
    setFocusPolicy(Qt::StrongFocus); // for Ctrl+C
    installPictureAccessibility();
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

void DiagramView::setClasses(const DiagramClasses& classes)
{
    m_classes = classes;
    update();
}

int DiagramView::classOf(HeadId head) const
{
    const auto place = static_cast<std::size_t>(head.layer) * static_cast<std::size_t>(m_heads)
        + static_cast<std::size_t>(head.head);
    return place < m_classes.ofHeads.size() ? m_classes.ofHeads[place] : 0;
}

bool DiagramView::hasLegend() const
{
    return m_classes.kinds.size() > 1
        || std::ranges::any_of(m_classes.ofHeads, [](int headClass) { return headClass > 0; });
}

QRectF DiagramView::nodesArea(const QRectF& all, const QFontMetricsF& metrics) const
{
    const double labels = metrics.horizontalAdvance(QStringLiteral("layer 00")) + 8;
    const std::vector<LegendEntry> entries = legend(all, metrics);
    const double legend = entries.empty() ? 0 : entries.back().area.bottom() - all.top();
    return all.adjusted(labels, diagramViewMargin + legend, -diagramViewMargin,
                        -diagramViewMargin - metrics.height());
}

QPointF DiagramView::positionOf(HeadId head) const
{
    return place(head, nodesArea(QRectF(rect()), QFontMetricsF(secondaryFont(), this)));
}

QColor DiagramView::classColor(int headClass, const ThemeColors& colors) const
{
    const QColor chosen = colorChoice().classes.value(m_classes.names.value(headClass - 1));
    return chosen.isValid() ? chosen : seriesColor(headClass, colors);
}

namespace {

Qt::PenStyle kindStyle(int kind)
{
    return kind % 3 == 0 ? Qt::SolidLine : kind % 3 == 1 ? Qt::DashLine : Qt::DotLine;
}

} // namespace

QColor DiagramView::edgeColor(const DiagramEdge& edge, const ThemeColors& colors) const
{
    if (m_classes.edges != DiagramClasses::Edges::Kind) {
        const int of = classOf(m_classes.edges == DiagramClasses::Edges::Writer ? edge.from : edge.to);
        return of > 0 ? classColor(of, colors) : colors.muted;
    }
    if (m_classes.kinds.size() > 1)
        return seriesColor(edge.kind, colors);
    return colors.categorical[edge.value < 0 ? 1 : 0];
}

void DiagramView::paintEdges(QPainter& painter, const QRectF& area, const Look& look) const
{
    double largest = 0;
    for (const DiagramEdge& edge : m_edges)
        largest = std::max(largest, std::abs(edge.value));
    const auto touches = [](const DiagramEdge& edge, HeadId head) {
        return edge.from == head || edge.to == head;
    };
    const bool several = m_classes.kinds.size() > 1;
    for (auto edge = m_edges.rbegin(); edge != m_edges.rend(); ++edge) { // the strongest on top
        const bool faint = look.hasSelection && m_hovered && !touches(*edge, *m_hovered);
        const double strength = largest > 0 ? std::abs(edge->value) / largest : 0;
        QColor color = edgeColor(*edge, look.colors);
        color.setAlphaF(faint ? 0.08F : static_cast<float>(0.35 + 0.6 * strength));
        const Qt::PenStyle style = several ? kindStyle(edge->kind)
            : edge->value < 0              ? Qt::DashLine
                                           : Qt::SolidLine;
        painter.setPen(QPen(color, look.lineWidth * (0.6 + 3 * strength), style));
        painter.setBrush(Qt::NoBrush);
        const QPointF from = place(edge->from, area);
        const QPointF to = place(edge->to, area);
        const double half = (from.y() - to.y()) / 2;
        QPainterPath path(from);
        path.cubicTo(from - QPointF(0, half), to + QPointF(0, half), to);
        painter.drawPath(path);
    }
}

void DiagramView::paintNodes(QPainter& painter, const QRectF& area, const Look& look) const
{
    const double radius = std::clamp(area.width() / std::max(1, m_heads) / 3, 2.0, 6.0);
    for (int layer = 0; layer < m_layers; ++layer)
        for (int head = 0; head < m_heads; ++head) {
            const HeadId id{layer, head};
            const bool isCurrent = look.hasSelection && id == m_current;
            const bool chosen = isCurrent || (look.hasSelection && m_hovered == id);
            const int headClass = classOf(id);
            painter.setPen(
                QPen(chosen ? look.colors.accent : look.colors.muted, look.lineWidth * (chosen ? 2 : 1)));
            if (headClass > 0) {
                painter.setBrush(classColor(headClass, look.colors));
                paintMarker(painter, place(id, area), headClass, 2 * radius);
            } else {
                painter.setBrush(isCurrent ? look.colors.accent : look.colors.base);
                painter.drawEllipse(place(id, area), radius, radius);
            }
            if (headClass > 0 && isCurrent) {
                painter.setBrush(Qt::NoBrush);
                painter.drawEllipse(place(id, area), 1.7 * radius, 1.7 * radius);
            }
        }
}

void DiagramView::paintLabels(QPainter& painter, const QRectF& all, const QRectF& area,
                              const Look& look) const
{
    const QFontMetricsF metrics(look.font, painter.device());
    painter.setPen(look.colors.muted);
    const double down = m_layers > 1 ? area.height() / (m_layers - 1) : area.height();
    const int layerStep = std::max(1, static_cast<int>(std::ceil(metrics.height() / std::max(1.0, down))));
    for (int layer = 0; layer < m_layers; layer += layerStep)
        painter.drawText(QPointF(all.left() + 4, place({layer, 0}, area).y() + metrics.ascent() / 2 - 1),
                         tr("layer %1").arg(layer));
    const double across = area.width() / std::max(1, m_heads);
    const double room = metrics.horizontalAdvance(QStringLiteral("00")) + 4;
    const int step = std::max(1, static_cast<int>(std::ceil(room / std::max(1.0, across))));
    for (int head = 0; head < m_heads; head += step) {
        const QString label = QString::number(head);
        painter.drawText(
            QPointF(place({0, head}, area).x() - metrics.horizontalAdvance(label) / 2, all.bottom() - 4),
            label);
    }
}

/// Lists the kinds of edges and the classes in use, on as many lines above the heads as they need.
std::vector<DiagramView::LegendEntry> DiagramView::legend(const QRectF& all,
                                                          const QFontMetricsF& metrics) const
{
    constexpr double after = 14;
    std::vector<LegendEntry> entries;
    double x = all.left() + 4, y = all.top();
    const auto add = [&](LegendEntry entry, double sign) {
        const double width = sign + metrics.horizontalAdvance(entry.words);
        if (!entries.empty() && x + width > all.right()) {
            x = all.left() + 4;
            y += metrics.height() + 4;
        }
        entry.area = QRectF(x, y, width, metrics.height() + 4);
        x += width + after;
        entries.push_back(std::move(entry));
    };
    for (int kind = 0; m_classes.kinds.size() > 1 && kind < m_classes.kinds.size(); ++kind)
        add({kind, 0, m_classes.kinds[kind], {}}, lineSign);
    for (int headClass = 1; headClass <= m_classes.names.size(); ++headClass)
        if (std::ranges::find(m_classes.ofHeads, headClass) != m_classes.ofHeads.end())
            add({-1, headClass, m_classes.names[headClass - 1], {}}, markerSign);
    return entries;
}

QRectF DiagramView::legendRect(int headClass) const
{
    for (const LegendEntry& entry : legend(QRectF(rect()), QFontMetricsF(secondaryFont(), this)))
        if (entry.headClass == headClass)
            return entry.area;
    return {};
}

void DiagramView::paintLegend(QPainter& painter, const QRectF& all, const Look& look) const
{
    const QFontMetricsF metrics(look.font, painter.device());
    for (const LegendEntry& entry : legend(all, metrics)) {
        const double x = entry.area.left();
        const double base = entry.area.top() + metrics.ascent() + 2;
        const double middle = base - metrics.ascent() / 2 + metrics.descent() / 2;
        if (entry.kind >= 0) {
            const QColor color = m_classes.edges == DiagramClasses::Edges::Kind
                ? seriesColor(entry.kind, look.colors)
                : look.colors.muted;
            painter.setPen(QPen(color, 2 * look.lineWidth, kindStyle(entry.kind)));
            painter.drawLine(QPointF(x, middle), QPointF(x + lineSign - 4, middle));
        } else {
            painter.setPen(QPen(look.colors.muted, look.lineWidth));
            painter.setBrush(classColor(entry.headClass, look.colors));
            paintMarker(painter, {x + 4, middle}, entry.headClass, 9);
        }
        painter.setPen(look.colors.text);
        painter.drawText(QPointF(x + (entry.kind >= 0 ? lineSign : markerSign), base), entry.words);
    }
}

void DiagramView::paint(QPainter& painter, const QRectF& all, const Look& look) const
{
    const QRectF area = nodesArea(all, QFontMetricsF(look.font, painter.device()));
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setFont(look.font);
    paintEdges(painter, area, look);
    paintNodes(painter, area, look);
    if (look.hasLabels)
        paintLabels(painter, all, area, look);
    if (hasLegend())
        paintLegend(painter, all, look);
}

void DiagramView::paintEvent(QPaintEvent* /*event*/)
{
    QPainter painter(this);
    const ThemeColors& colors = themeColors(palette());
    if (hasFocus()) {
        painter.setPen(colors.accent);
        painter.drawRect(rect().adjusted(0, 0, -1, -1));
    }
    if (!m_edges.empty()) {
        paint(painter, QRectF(rect()), {secondaryFont(), colors, 1, true, true});
        if (m_lit) {
            painter.setPen(QPen(colors.accent, 1));
            painter.setBrush(Qt::NoBrush);
            painter.drawEllipse(positionOf(*m_lit), 9, 9);
        }
        return;
    }
    painter.setPen(colors.muted);
    painter.drawText(rect().adjusted(12, 12, -12, -12), Qt::AlignCenter | Qt::TextWordWrap, m_message);
}

std::optional<HeadId> DiagramView::headAt(const QPointF& position) const
{
    std::optional<HeadId> nearest;
    double closest = diagramViewReach;
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
    if (const int of = classOf(head); of > 0)
        parts.front() += QStringLiteral(" (%1)").arg(m_classes.names.value(of - 1));
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

void DiagramView::setLit(std::optional<HeadId> head)
{
    m_lit = head;
    update();
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
    if (event->button() != Qt::LeftButton)
        return;
    for (int headClass = 1; headClass <= m_classes.names.size(); ++headClass)
        if (legendRect(headClass).contains(event->position()))
            return emit classClicked(headClass);
    if (const auto head = headAt(event->position()))
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
    if (style.axes && !m_valueTitle.isEmpty() && !m_edges.empty()) {
        QString note = tr("widest arrow: %1 %2").arg(m_valueTitle, number(m_edges.front().value));
        const bool hasNegative =
            std::ranges::any_of(m_edges, [](const DiagramEdge& edge) { return edge.value < 0; });
        if (hasNegative && m_classes.kinds.size() <= 1) // else dashes are the kinds'
            note += tr("; dashed: below zero");
        area.setBottom(area.bottom() - paintFigureNote(painter, note, size, style));
    }
    paint(painter, area,
          {figureFont(style), lightColors(), style.lineWidth, style.axes, style.edits.selection});
}

void DiagramView::forEachDataRow(const std::function<void(const QStringList&)>& writeRow) const
{
    const bool several = m_classes.kinds.size() > 1;
    QStringList row{QStringLiteral("from"), QStringLiteral("to"), QStringLiteral("value")};
    writeRow(several ? row << QStringLiteral("kind") : row);
    for (const DiagramEdge& edge : m_edges) {
        row = {text(edge.from), text(edge.to), exactNumber(edge.value)};
        writeRow(several ? row << m_classes.kinds.value(edge.kind) : row);
    }
}

} // namespace headwise::ui
