#include "ui/heatmaps/heatmap_zoom.h"

#include <algorithm>
#include <utility>

namespace headwise::ui {

namespace {

// At least two cells stay in view, or one if there is only one.
double clampedZoom(double zoom, Eigen::Index cells)
{
    return std::clamp(zoom, 1.0, std::max(1.0, static_cast<double>(cells) / 2));
}

double clampedCenter(double center, double zoom)
{
    return std::clamp(center, 0.5 / zoom, 1 - 0.5 / zoom);
}

} // namespace

HeatmapZoom::HeatmapZoom(HeatmapContent* content, QObject* parent)
    : QObject(parent)
    , m_content(content)
{
}

void HeatmapZoom::setState(const HeatmapState& state)
{
    const HeatmapScene& scene = m_content->scene();
    HeatmapState possible = state;
    if (!scene.isEmpty()) {
        possible.zoomX = clampedZoom(state.zoomX, scene.columnCount());
        possible.zoomY = clampedZoom(state.zoomY, scene.rowCount());
        if (state.row >= scene.rowCount() || state.column >= scene.columnCount() || state.row < 0
            || state.column < 0)
            possible.row = possible.column = -1;
    }
    possible.centerX = clampedCenter(state.centerX, possible.zoomX);
    possible.centerY = clampedCenter(state.centerY, possible.zoomY);
    if (possible == m_state)
        return;
    const bool moved = possible.row != m_state.row || possible.column != m_state.column;
    m_state = possible;
    apply();
    emit stateChanged(m_state);
    if (moved)
        emit currentCellChanged(m_state.row, m_state.column);
}

void HeatmapZoom::apply()
{
    const HeatmapScene& scene = m_content->scene();
    if (scene.isEmpty())
        return;
    const double columns = static_cast<double>(scene.columnCount());
    const double rows = static_cast<double>(scene.rowCount());
    m_state.zoomX = clampedZoom(m_state.zoomX, scene.columnCount());
    m_state.zoomY = clampedZoom(m_state.zoomY, scene.rowCount());
    m_state.centerX = clampedCenter(m_state.centerX, m_state.zoomX);
    m_state.centerY = clampedCenter(m_state.centerY, m_state.zoomY);
    const QSizeF size(columns / m_state.zoomX, rows / m_state.zoomY);
    m_content->setVisible({m_state.centerX * columns - size.width() / 2,
                           m_state.centerY * rows - size.height() / 2, size.width(), size.height()});
}

void HeatmapZoom::fit()
{
    setState({.row = m_state.row, .column = m_state.column});
}

void HeatmapZoom::followSize()
{
    const HeatmapScene& scene = m_content->scene();
    if (scene.isEmpty())
        return;
    const QSize size(static_cast<int>(scene.columnCount()), static_cast<int>(scene.rowCount()));
    const QSize before = std::exchange(m_size, size);
    if (before.isValid() && before != size)
        fit();
}

void HeatmapZoom::zoomAt(const QPointF& part, double factorX, double factorY)
{
    const HeatmapScene& scene = m_content->scene();
    if (scene.isEmpty())
        return;
    HeatmapState state = m_state;
    state.zoomX = clampedZoom(m_state.zoomX * factorX, scene.columnCount());
    state.zoomY = clampedZoom(m_state.zoomY * factorY, scene.rowCount());
    const double u = std::clamp(part.x(), 0.0, 1.0) - 0.5;
    const double v = std::clamp(part.y(), 0.0, 1.0) - 0.5;
    state.centerX = m_state.centerX + u / m_state.zoomX - u / state.zoomX;
    state.centerY = m_state.centerY + v / m_state.zoomY - v / state.zoomY;
    setState(state);
}

void HeatmapZoom::pan(double partX, double partY)
{
    HeatmapState state = m_state;
    state.centerX -= partX / m_state.zoomX;
    state.centerY -= partY / m_state.zoomY;
    setState(state);
}

void HeatmapZoom::setCurrentCell(int row, int column)
{
    HeatmapState state = m_state;
    state.row = row;
    state.column = column;
    setState(state);
}

void HeatmapZoom::moveCurrent(int rows, int columns)
{
    const HeatmapScene& scene = m_content->scene();
    if (m_state.row < 0) // The first key only shows the current position.
        return setCurrentCell(static_cast<int>(scene.visible.top()), static_cast<int>(scene.visible.left()));
    setCurrentCell(std::clamp(m_state.row + rows, 0, static_cast<int>(scene.rowCount()) - 1),
                   std::clamp(m_state.column + columns, 0, static_cast<int>(scene.columnCount()) - 1));
    showCurrent();
}

void HeatmapZoom::showCurrent()
{
    const HeatmapScene& scene = m_content->scene();
    const QRectF visible = scene.visible;
    const double x = std::clamp(m_state.column + 0.5, visible.left() + 0.5, visible.right() - 0.5);
    const double y = std::clamp(m_state.row + 0.5, visible.top() + 0.5, visible.bottom() - 0.5);
    HeatmapState state = m_state;
    state.centerX += (m_state.column + 0.5 - x) / static_cast<double>(scene.columnCount());
    state.centerY += (m_state.row + 0.5 - y) / static_cast<double>(scene.rowCount());
    setState(state);
}

void HeatmapZoom::centerCurrent()
{
    if (m_state.row < 0)
        return;
    const HeatmapScene& scene = m_content->scene();
    HeatmapState state = m_state;
    state.centerX = (m_state.column + 0.5) / static_cast<double>(scene.columnCount());
    state.centerY = (m_state.row + 0.5) / static_cast<double>(scene.rowCount());
    setState(state);
}

} // namespace headwise::ui
