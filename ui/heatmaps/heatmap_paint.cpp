// Painting of a heatmap on the screen, and the note in its corner.

#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/heatmaps/heatmap_groups.h"
#include "ui/heatmaps/heatmap_view.h"
#include "ui/heatmaps/shared_scale.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>

#include <algorithm>
#include <cmath>
#include <utility>

namespace headwise::ui {

namespace {

constexpr double valueWidth = 40; // px; from this width on a cell has space for its number
constexpr double valueHeight = 16;

} // namespace

QImage HeatmapView::picture(const HeatmapScene& scene, const QSize& size)
{
    if (!scene.tiles)
        return heatmapImage(scene, *m_pyramid, size, themeColors(palette()));
    std::vector<TileKey> visible;
    QImage image = tiledImage(scene, *m_loader, size, visible);
    m_loader->want(visible);
    if (visible.empty() && scene.aggregate == Aggregate::Strongest)
        m_loader->wantOverview();
    return image;
}

void HeatmapView::paintEvent(QPaintEvent* /*event*/)
{
    QPainter painter(this);
    const ThemeColors& colors = themeColors(palette());
    if (isEmpty())
        return paintNothing(painter);
    HeatmapScene scene = m_scene;
    scene.scale = shownScale();
    const QRectF cells = cellsArea();
    if (m_image.isNull()) {
        m_image = picture(scene, (cells.size() * devicePixelRatioF()).toSize());
        m_image.setDevicePixelRatio(devicePixelRatioF());
    }
    painter.drawImage(cells.topLeft(), m_image);
    paintHeatmapGroups(painter, cells, scene, QPen(colors.muted, 1));
    paintHeatmapMarks(painter, cells, scene);
    const QSizeF cell = cellRect(0, 0).size();
    if (cell.width() >= valueWidth && cell.height() >= valueHeight)
        paintHeatmapValues(painter, cells, scene, fonts().text);
    if (m_dimmed) {
        QColor veil = colors.window;
        veil.setAlphaF(0.6F);
        painter.fillRect(cells, veil);
    }
    paintHeatmapAxes(painter, cells, room(), scene, {fonts(), colors});
    paintHeatmapNorms(painter, cells, room(), scene, colors);
    paintOverlays(painter, cells);
}

void HeatmapView::paintOverlays(QPainter& painter, const QRectF& cells) const
{
    const ThemeColors& colors = themeColors(palette());
    painter.setPen(QPen(hasFocus() ? colors.accent : colors.border, 1));
    painter.drawRect(cells.adjusted(-0.5, -0.5, 0.5, 0.5));
    painter.save();
    painter.setClipRect(cells.adjusted(-3, -3, 3, 3));
    if (m_reference.x() >= 0)
        paintCellRing(painter, cellRect(m_reference.y(), m_reference.x()), colors, Qt::DashLine);
    if (m_state.row >= 0)
        paintCellRing(painter, cellRect(m_state.row, m_state.column), colors, Qt::SolidLine);
    painter.restore();
    paintNote(painter);
}

QRectF HeatmapView::noteArea() const
{
    constexpr double beside = 6, inside = 6; // px, margin and padding of the chip
    const QRectF cells = cellsArea();
    const QString corner = note();
    if (corner.isEmpty() || cells.width() < 60)
        return {};
    const QFontMetricsF metrics(fonts().text, this);
    const double width = std::min(metrics.horizontalAdvance(corner) + 2 * inside, cells.width() - 2 * beside);
    const double height = metrics.height() + 2;
    return {cells.left() + beside, cells.bottom() - height - beside, width, height};
}

// Paints at most one line. It disappears when the mouse is over it, so that the cells can be seen.
void HeatmapView::paintNote(QPainter& painter) const
{
    const QRectF chip = noteArea();
    if (chip.isEmpty() || m_looksUnderNote)
        return;
    const ThemeColors& colors = themeColors(palette());
    const QFontMetricsF metrics(fonts().text, this);
    painter.setFont(fonts().text);
    QColor ground = colors.base;
    ground.setAlphaF(0.88F);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(ground);
    painter.drawRoundedRect(chip, 4, 4);
    painter.setPen(colors.muted);
    painter.drawText(chip, Qt::AlignCenter, metrics.elidedText(note(), Qt::ElideRight, chip.width() - 8));
}

void HeatmapView::lookUnderNote(const QEvent& event)
{
    // px; the note's upper limit, since counting out-of-range values takes too long for every move
    constexpr double highest = 40;
    bool looks = false;
    if (event.type() == QEvent::MouseMove) {
        const QPointF at = static_cast<const QMouseEvent&>(event).position();
        looks = at.y() > cellsArea().bottom() - highest && noteArea().contains(at);
    }
    if (std::exchange(m_looksUnderNote, looks) != looks)
        update();
}

QString HeatmapView::note() const
{
    QStringList parts{noteOf((cellsArea().size() * devicePixelRatioF()).toSize())};
    if (m_shared && m_shared->count() > 1)
        parts << tr("scale shared by %1").arg(m_shared->count());
    if (isLocked() && m_choice.fit && !isEmpty())
        parts << tr("limits locked");
    parts.removeAll(QString());
    return parts.join(QStringLiteral(" · "));
}

QString HeatmapView::noteOf(const QSize& pixels) const
{
    QStringList parts{aggregateNote(pixels), beyondNote()};
    if (m_notFinite > 0 && !m_scene.nanIsAbsent)
        parts << (m_notFinite == 1 ? tr("1 value is not finite")
                                   : tr("%1 values are not finite").arg(ui::count(m_notFinite)));
    parts.removeAll(QString());
    return parts.join(QStringLiteral(" · "));
}

QString HeatmapView::aggregateNote(const QSize& pixels) const
{
    if (isEmpty() || pixels.isEmpty())
        return {};
    const QString kind = m_scene.aggregate == Aggregate::Mean ? tr("mean") : tr("strongest");
    const auto each = [&](int down, int across) {
        return tr("each pixel: %1 of %2 × %3").arg(kind).arg(std::max(1, down)).arg(std::max(1, across));
    };
    if (!m_scene.tiles) {
        const double across = m_scene.visible.width() / pixels.width();
        const double down = m_scene.visible.height() / pixels.height();
        return across > 1 || down > 1
            ? each(static_cast<int>(std::ceil(down)), static_cast<int>(std::ceil(across)))
            : QString();
    }
    const int level = tileLevel(m_scene, pixels);
    if (level == 0)
        return {};
    const QString text = each(1 << level, 1 << level);
    if (m_scene.aggregate == Aggregate::Mean || level < m_scene.tiles->overviewLevel()
        || m_loader->isOverviewExact())
        return text;
    return tr("%1, estimated; exact in %2 of %3 blocks")
        .arg(text)
        .arg(m_loader->blocksDone())
        .arg(m_loader->blockCount());
}

QString HeatmapView::beyondNote() const
{
    const ColorScale& scale = m_scene.scale;
    if (scale.fit == ColorFit::Full || scale.fit == ColorFit::DataRange || isEmpty())
        return {};
    if (m_scene.matrix) {
        const auto values = m_scene.matrix->array();
        const auto beyond =
            static_cast<qint64>((values.isFinite() && (values < scale.low || values > scale.high)).count());
        return beyond == 0 ? QString()
            : beyond == 1  ? tr("1 value beyond the limits")
                           : tr("%1 values beyond the limits").arg(ui::count(beyond));
    }
    const auto isBeyond = [&scale](float value) { return value < scale.low || value > scale.high; };
    const auto beyond = std::ranges::count_if(m_statistics.sample, isBeyond);
    const double part =
        static_cast<double>(beyond) / static_cast<double>(std::max<size_t>(1, m_statistics.sample.size()));
    return beyond == 0 ? QString() : tr("about %1 % beyond the limits").arg(number(100 * part));
}

void HeatmapView::paintNothing(QPainter& painter) const
{
    painter.setPen(themeColors(palette()).muted);
    painter.setFont(font());
    painter.drawText(rect().adjusted(12, 12, -12, -12), Qt::AlignCenter | Qt::TextWordWrap, m_message);
}

QString HeatmapView::normAt(const QPointF& position) const
{
    const QRectF cells = cellsArea();
    if (!m_scene.norms || isEmpty() || cells.isEmpty())
        return {};
    const QPointF part((position.x() - cells.left()) / cells.width(),
                       (position.y() - cells.top()) / cells.height());
    if (part.x() > 1 && part.y() >= 0 && part.y() < 1) {
        const int row = static_cast<int>(m_scene.visible.top() + part.y() * m_scene.visible.height());
        return tr("norm of row %1: %2")
            .arg(axisLabel(m_scene.rows, row), number(double{m_scene.norms->rows(row)}));
    }
    if (part.y() > 1 && part.x() >= 0 && part.x() < 1) {
        const int column = static_cast<int>(m_scene.visible.left() + part.x() * m_scene.visible.width());
        return tr("norm of column %1: %2")
            .arg(axisLabel(m_scene.columns, column), number(double{m_scene.norms->columns(column)}));
    }
    return {};
}

bool HeatmapView::event(QEvent* event)
{
    // Without this, 0 would open a page of the window.
    if (event->type() == QEvent::ShortcutOverride && takesKey(*static_cast<QKeyEvent*>(event)))
        event->accept();
    if (event->type() == QEvent::MouseMove || event->type() == QEvent::Leave)
        lookUnderNote(*event);
    if (event->type() == QEvent::ToolTip) {
        const auto* help = static_cast<QHelpEvent*>(event);
        const QString norm = noteArea().contains(help->pos()) ? note() : normAt(help->pos());
        if (!norm.isEmpty()) {
            QToolTip::showText(help->globalPos(), norm, this);
            return true;
        }
    }
    return QWidget::event(event);
}

} // namespace headwise::ui
