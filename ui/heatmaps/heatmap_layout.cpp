#include "ui/heatmaps/heatmap_layout.h"

#include <QWidget>

#include <algorithm>
#include <cmath>

namespace headwise::ui {

HeatmapLayout::HeatmapLayout(QWidget* widget, const HeatmapScene& scene)
    : m_widget(widget)
    , m_scene(scene)
{
}

HeatmapFonts HeatmapLayout::fonts() const
{
    QFont labels = tokenFont();
    labels.setPointSize(secondaryFont().pointSize());
    QFont text = m_widget->font();
    text.setPointSize(secondaryFont().pointSize());
    return {text, labels};
}

QFontMetricsF HeatmapLayout::metrics() const
{
    return QFontMetricsF(fonts().text, m_widget);
}

const HeatmapRoom& HeatmapLayout::room() const
{
    if (!m_room)
        m_room = heatmapRoom(m_scene, QSizeF(m_widget->size()), fonts(), m_widget);
    return *m_room;
}

void HeatmapLayout::forgetRoom()
{
    m_room.reset();
    m_noteHeight.reset();
}

double HeatmapLayout::noteHeight() const
{
    if (!m_noteHeight)
        m_noteHeight = m_measureNote ? m_measureNote() : 0;
    return *m_noteHeight;
}

bool HeatmapLayout::growNote()
{
    if (!m_noteHeight) // Nobody has asked for the cells yet.
        return false;
    const double before = *m_noteHeight;
    m_noteHeight = std::max(before, m_measureNote());
    return *m_noteHeight > before;
}

QMarginsF HeatmapLayout::marginsWith(double noteHeight) const
{
    return room().margins() + QMarginsF(0, 0, 0, noteHeight);
}

QRectF HeatmapLayout::area() const
{
    return areaAbove(noteHeight());
}

QRectF HeatmapLayout::areaAbove(double noteHeight) const
{
    const QRectF area = QRectF(m_widget->rect()).marginsRemoved(marginsWith(noteHeight));
    if (m_shape == HeatmapCellShape::Stretched || m_scene.isEmpty())
        return {area.topLeft().toPoint(), area.size().toSize()};
    const QSizeF cells(static_cast<double>(m_scene.columnCount()), static_cast<double>(m_scene.rowCount()));
    return {area.topLeft().toPoint(), cells.scaled(area.size(), Qt::KeepAspectRatio).toSize()};
}

QSize HeatmapLayout::pixels() const
{
    return (area().size() * m_widget->devicePixelRatioF()).toSize();
}

QSize HeatmapLayout::usableSize() const
{
    if (m_shape == HeatmapCellShape::Stretched || m_scene.isEmpty())
        return {QWIDGETSIZE_MAX, QWIDGETSIZE_MAX};
    const QMarginsF around = marginsWith(noteHeight());
    const QSizeF margins(around.left() + around.right(), around.top() + around.bottom());
    const QSizeF inside = QSizeF(m_widget->size()) - margins;
    const double ratio = static_cast<double>(m_scene.columnCount()) / static_cast<double>(m_scene.rowCount());
    const auto most = [](double length, double margin) {
        return static_cast<int>(std::ceil(std::clamp(length + margin, 1.0, double{QWIDGETSIZE_MAX})));
    };
    return {most(inside.height() * ratio, margins.width()), most(inside.width() / ratio, margins.height())};
}

QRectF HeatmapLayout::rect(int row, int column) const
{
    return m_scene.isEmpty() ? QRectF() : cellRect(area(), m_scene, row, column);
}

QPointF HeatmapLayout::partAt(const QPointF& position) const
{
    const QRectF cells = area();
    return {(position.x() - cells.left()) / cells.width(), (position.y() - cells.top()) / cells.height()};
}

std::optional<QPoint> HeatmapLayout::at(const QPointF& position) const
{
    const QRectF cells = area();
    if (m_scene.isEmpty() || !cells.contains(position))
        return std::nullopt;
    const double x =
        m_scene.visible.left() + (position.x() - cells.left()) / cells.width() * m_scene.visible.width();
    const double y =
        m_scene.visible.top() + (position.y() - cells.top()) / cells.height() * m_scene.visible.height();
    return QPoint(std::clamp(static_cast<int>(x), 0, static_cast<int>(m_scene.columnCount()) - 1),
                  std::clamp(static_cast<int>(y), 0, static_cast<int>(m_scene.rowCount()) - 1));
}

} // namespace headwise::ui
