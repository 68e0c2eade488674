#include "ui/heatmaps/heatmap_screen.h"

#include "ui/base/theme.h"
#include "ui/heatmaps/heatmap_groups.h"
#include "ui/heatmaps/heatmap_view.h"

#include <QPainter>

#include <utility>

namespace headwise::ui {

namespace {

constexpr double valueWidth = 40; // px; from this width on a cell has space for its number
constexpr double valueHeight = 16;

} // namespace

HeatmapScreen::HeatmapScreen(HeatmapView* view)
    : m_view(view)
    , m_message(HeatmapView::tr("Nothing to show yet"))
{
    m_dimTimer.setSingleShot(true);
    m_dimTimer.setInterval(200);
    QObject::connect(&m_dimTimer, &QTimer::timeout, view, [this] {
        m_dimmed = true;
        m_view->update();
    });
}

void HeatmapScreen::setPending(bool pending)
{
    m_dimmed = false;
    if (pending)
        m_dimTimer.start();
    else
        m_dimTimer.stop();
    m_view->update();
}

void HeatmapScreen::setMessage(const QString& message)
{
    m_message = message;
    m_view->update();
}

void HeatmapScreen::setReferenceCell(int row, int column)
{
    m_reference = {column, row};
    m_view->update();
}

void HeatmapScreen::setLitCells(const QList<QRect>& areas)
{
    if (std::exchange(m_lit, areas) != areas)
        m_view->update();
}

void HeatmapScreen::forgetImage()
{
    m_image = {};
    m_view->update();
}

void HeatmapScreen::paint()
{
    QPainter painter(m_view);
    if (m_view->isEmpty())
        return paintNothing(painter);
    paintCells(painter);
    paintOverlays(painter);
}

void HeatmapScreen::paintCells(QPainter& painter)
{
    const ThemeColors& colors = themeColors(m_view->palette());
    const HeatmapLayout& layout = m_view->cells();
    HeatmapScene scene = m_view->scene();
    scene.scale = m_view->colors()->scaleOn(m_view->palette());
    const QRectF cells = layout.area();
    if (m_image.isNull()) {
        m_image = m_view->content()->requestedImage(scene, layout.pixels(), colors);
        m_image.setDevicePixelRatio(m_view->devicePixelRatioF());
    }
    painter.drawImage(cells.topLeft(), m_image);
    paintHeatmapGroups(painter, cells, scene, QPen(colors.muted, 1));
    paintHeatmapMarks(painter, cells, scene);
    const QSizeF cell = layout.rect(0, 0).size();
    if (cell.width() >= valueWidth && cell.height() >= valueHeight)
        paintHeatmapValues(painter, cells, scene, layout.fonts().text);
    if (m_dimmed) {
        QColor veil = colors.window;
        veil.setAlphaF(0.6F);
        painter.fillRect(cells, veil);
    }
    paintHeatmapAxes(painter, cells, layout.room(), scene, {layout.fonts(), colors});
    paintHeatmapNorms(painter, cells, layout.room(), scene, colors);
}

void HeatmapScreen::paintOverlays(QPainter& painter) const
{
    const ThemeColors& colors = themeColors(m_view->palette());
    const HeatmapLayout& layout = m_view->cells();
    const QRectF cells = layout.area();
    painter.setPen(QPen(m_view->hasFocus() ? colors.accent : colors.border, 1));
    painter.drawRect(cells.adjusted(-0.5, -0.5, 0.5, 0.5));
    painter.save();
    painter.setClipRect(cells.adjusted(-3, -3, 3, 3));
    const HeatmapState& state = m_view->zoom()->state();
    for (const QRect& lit : m_lit)
        paintThinRing(painter, layout.rect(lit.top(), lit.left()) | layout.rect(lit.bottom(), lit.right()),
                      colors);
    if (m_reference.x() >= 0)
        paintCellRing(painter, layout.rect(m_reference.y(), m_reference.x()), colors, Qt::DashLine);
    if (state.row >= 0)
        paintCellRing(painter, layout.rect(state.row, state.column), colors, Qt::SolidLine);
    painter.restore();
    m_view->note().paint(painter, colors);
}

void HeatmapScreen::paintNothing(QPainter& painter) const
{
    painter.setPen(themeColors(m_view->palette()).muted);
    painter.setFont(m_view->font());
    painter.drawText(m_view->rect().adjusted(12, 12, -12, -12), Qt::AlignCenter | Qt::TextWordWrap,
                     m_message);
}

} // namespace headwise::ui
