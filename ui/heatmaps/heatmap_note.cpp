#include "ui/heatmaps/heatmap_note.h"

#include "ui/base/text.h"
#include "ui/figures/figure_export_title.h"
#include "ui/heatmaps/heatmap_view.h"
#include "ui/heatmaps/shared_scale.h"

#include <QMouseEvent>
#include <QPainter>
#include <QWidget>

#include <algorithm>
#include <cmath>
#include <utility>

namespace headwise::ui {

namespace {

constexpr double inNote = 6; // px, padding of the chip

QString aggregateNote(const HeatmapContent& content, const QSize& pixels)
{
    const HeatmapScene& scene = content.scene();
    if (scene.isEmpty() || pixels.isEmpty())
        return {};
    const QString kind =
        scene.aggregate == Aggregate::Mean ? HeatmapView::tr("mean") : HeatmapView::tr("strongest");
    const auto each = [&](int down, int across) {
        return HeatmapView::tr("each pixel: %1 of %2 × %3")
            .arg(kind)
            .arg(std::max(1, down))
            .arg(std::max(1, across));
    };
    if (!scene.tiles) {
        const double across = scene.visible.width() / pixels.width();
        const double down = scene.visible.height() / pixels.height();
        return across > 1 || down > 1
            ? each(static_cast<int>(std::ceil(down)), static_cast<int>(std::ceil(across)))
            : QString();
    }
    const int level = tileLevel(scene, pixels);
    if (level == 0)
        return {};
    const QString text = each(1 << level, 1 << level);
    const TileLoader* loader = content.loadedTiles();
    if (scene.aggregate == Aggregate::Mean || level < scene.tiles->overviewLevel()
        || loader->isOverviewExact())
        return text;
    return HeatmapView::tr("%1, estimated; exact in %2 of %3 blocks")
        .arg(text)
        .arg(loader->blocksDone())
        .arg(loader->blockCount());
}

QString beyondNote(const HeatmapContent& content)
{
    const HeatmapScene& scene = content.scene();
    const ColorScale& scale = scene.scale;
    if (scale.fit == ColorFit::Full || scale.fit == ColorFit::DataRange || scene.isEmpty())
        return {};
    if (scene.matrix) {
        const auto values = scene.matrix->array();
        const float slack = ColorScale::roundingShare * (scale.high - scale.low);
        const auto beyond = static_cast<qint64>(
            (values.isFinite() && (values < scale.low - slack || values > scale.high + slack)).count());
        return beyond == 0 ? QString()
            : beyond == 1  ? HeatmapView::tr("1 value beyond the limits")
                           : HeatmapView::tr("%1 values beyond the limits").arg(ui::count(beyond));
    }
    const auto isBeyond = [&scale](float value) { return scale.isBelow(value) || scale.isAbove(value); };
    const auto& sample = content.statistics().sample;
    const auto beyond = std::ranges::count_if(sample, isBeyond);
    const double part = static_cast<double>(beyond) / static_cast<double>(std::max<size_t>(1, sample.size()));
    return beyond == 0 ? QString() : HeatmapView::tr("about %1 % beyond the limits").arg(number(100 * part));
}

} // namespace

HeatmapNote::HeatmapNote(const HeatmapContent* content, const HeatmapColors* colors,
                         const HeatmapLayout& cells)
    : m_content(content)
    , m_colors(colors)
    , m_cells(cells)
{
}

QString HeatmapNote::text() const
{
    QStringList parts{textFor(m_cells.pixels())};
    const SharedScale* shared = m_colors->sharedScale();
    if (shared && shared->count() > 1)
        parts << HeatmapView::tr("scale shared by %1").arg(shared->count());
    if (m_colors->isLocked() && m_colors->choice().fit && !m_content->scene().isEmpty())
        parts << HeatmapView::tr("limits locked");
    parts.removeAll(QString());
    return parts.join(QStringLiteral(" · "));
}

QString HeatmapNote::textFor(const QSize& pixels) const
{
    QStringList parts{aggregateNote(*m_content, pixels), beyondNote(*m_content)};
    const qint64 notFinite = m_content->notFiniteCount();
    if (notFinite > 0 && !m_content->scene().nanIsAbsent)
        parts << (notFinite == 1 ? HeatmapView::tr("1 value is not finite")
                                 : HeatmapView::tr("%1 values are not finite").arg(ui::count(notFinite)));
    parts.removeAll(QString());
    return parts.join(QStringLiteral(" · "));
}

QRectF HeatmapNote::area() const
{
    constexpr double beside = 6, least = 60; // px: margin of the chip; width of cells that have room for it
    const QRectF cells = m_cells.area();
    const QString corner = text();
    if (corner.isEmpty() || cells.width() < least)
        return {};
    const QFontMetricsF metrics = m_cells.metrics();
    const auto sizeWithin = [&](double width) {
        double widest = 0;
        const QStringList lines = linesWithin(width);
        for (const QString& line : lines)
            widest = std::max(widest, metrics.horizontalAdvance(line));
        return QSizeF(widest + 2 * inNote, metrics.height() * static_cast<double>(lines.size()) + 2);
    };
    const QRectF place = m_cells.widget()->rect();
    const QPointF below(cells.left(), cells.bottom() + m_cells.room().margins().bottom() + 2);
    const QSizeF under = sizeWithin(place.right() - below.x());
    if (below.y() + under.height() <= place.bottom())
        return {below, under};
    const QSizeF over = sizeWithin(cells.width() - 2 * beside);
    return {{cells.left() + beside, cells.bottom() - over.height() - beside}, over};
}

QStringList HeatmapNote::linesWithin(double width) const
{
    return wrappedLines(text(), m_cells.fonts().text, width - 2 * inNote, m_cells.widget());
}

// Disappears when the mouse is over it, so that the cells can be seen.
void HeatmapNote::paint(QPainter& painter, const ThemeColors& colors) const
{
    const QRectF chip = area();
    if (chip.isEmpty() || m_looksUnder)
        return;
    painter.setFont(m_cells.fonts().text);
    QColor ground = colors.base;
    ground.setAlphaF(0.88F);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(ground);
    painter.drawRoundedRect(chip, 4, 4);
    painter.setPen(colors.muted);
    painter.drawText(chip, Qt::AlignCenter, linesWithin(chip.width() + 0.5).join(u'\n'));
}

bool HeatmapNote::lookUnder(const QEvent& event)
{
    // The note's upper limit, since counting out-of-range values takes too long for every move.
    constexpr double mostLines = 5;
    bool looks = false;
    if (event.type() == QEvent::MouseMove) {
        const QPointF at = static_cast<const QMouseEvent&>(event).position();
        const QRectF cells = m_cells.area();
        looks = cells.contains(at) && at.y() > cells.bottom() - mostLines * m_cells.metrics().height()
            && area().contains(at);
    }
    return std::exchange(m_looksUnder, looks) != looks;
}

} // namespace headwise::ui
