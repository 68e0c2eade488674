#include "ui/heatmaps/heatmap_note.h"

#include "ui/base/text.h"
#include "ui/figures/figure_export_title.h"
#include "ui/heatmaps/heatmap_view.h"
#include "ui/heatmaps/shared_scale.h"

#include <QPainter>
#include <QWidget>

#include <algorithm>
#include <cmath>

namespace headwise::ui {

namespace {

constexpr double aboveNote = 2;    // px
constexpr double leastWidth = 60;  // px; a narrower place has no note
constexpr qsizetype mostLines = 2; // a tooltip has the words that need more

QString aggregateNote(const HeatmapContent& content, const HeatmapScene& scene, const QSize& pixels)
{
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
        const qint64 beyond = countBeyond(scale, *scene.matrix);
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

QString HeatmapNote::numbersText(const HeatmapScene& scene, const QSize& pixels) const
{
    QStringList parts{aggregateNote(*m_content, scene, pixels), beyondNote(*m_content)};
    const qint64 notFinite = m_content->notFiniteCount();
    if (notFinite > 0 && !scene.nanIsAbsent)
        parts << (notFinite == 1 ? HeatmapView::tr("1 value is not finite")
                                 : HeatmapView::tr("%1 values are not finite").arg(ui::count(notFinite)));
    parts.removeAll(QString());
    return parts.join(QStringLiteral(" · "));
}

QString HeatmapNote::textFor(const QSize& pixels) const
{
    return numbersText(m_content->scene(), pixels);
}

QString HeatmapNote::screenText(const HeatmapScene& scene, const QSize& pixels) const
{
    QStringList parts{numbersText(scene, pixels)};
    const SharedScale* shared = m_colors->sharedScale();
    if (shared && shared->count() > 1)
        parts << HeatmapView::tr("scale shared by %1").arg(shared->count());
    if (m_colors->isLocked() && m_colors->choice().fit && !scene.isEmpty())
        parts << HeatmapView::tr("limits locked");
    parts.removeAll(QString());
    return parts.join(QStringLiteral(" · "));
}

QString HeatmapNote::text() const
{
    return screenText(m_content->scene(), m_cells.pixels());
}

HeatmapNote::Words HeatmapNote::wordsBelow(const QRectF& cells, const QString& words) const
{
    const QWidget* widget = m_cells.widget();
    const double right = widget->rect().right();
    if (words.isEmpty() || right < leastWidth)
        return {};
    const QFontMetricsF metrics = m_cells.metrics();
    // Below the cells if it has room there on one line; else below the labels of the rows, too.
    const double left = metrics.horizontalAdvance(words) <= right - cells.left() ? cells.left() : 0;
    QStringList lines = wrappedLines(words, m_cells.fonts().text, right - left, widget);
    if (lines.size() > mostLines) {
        const QString rest = lines.mid(mostLines - 1).join(u' ');
        lines.resize(mostLines);
        lines.last() = metrics.elidedText(rest, Qt::ElideRight, right - left);
    }
    return {left, lines};
}

double HeatmapNote::wantedHeight() const
{
    // All cells have the longest note: zooming in does not move them.
    HeatmapScene whole = m_content->scene();
    if (whole.isEmpty())
        return 0;
    whole.visible =
        QRectF(0, 0, static_cast<double>(whole.columnCount()), static_cast<double>(whole.rowCount()));
    const double line = m_cells.metrics().height();
    double height = 0;
    for (int attempt = 0; attempt < 3; ++attempt) { // Smaller cells can make the note longer.
        const QRectF cells = m_cells.areaAbove(height);
        const QSize pixels = (cells.size() * m_cells.widget()->devicePixelRatioF()).toSize();
        const auto lines = static_cast<double>(wordsBelow(cells, screenText(whole, pixels)).lines.size());
        const double needed = lines > 0 ? aboveNote + lines * line : 0;
        if (needed <= height)
            break;
        height = needed;
    }
    return height;
}

QRectF HeatmapNote::areaOf(const Words& words) const
{
    if (words.lines.isEmpty())
        return {};
    const QFontMetricsF metrics = m_cells.metrics();
    double widest = 0;
    for (const QString& line : words.lines)
        widest = std::max(widest, metrics.horizontalAdvance(line));
    return {words.left, m_cells.area().bottom() + m_cells.room().margins().bottom() + aboveNote, widest,
            metrics.height() * static_cast<double>(words.lines.size())};
}

QRectF HeatmapNote::area() const
{
    return areaOf(wordsBelow(m_cells.area(), text()));
}

void HeatmapNote::paint(QPainter& painter, const ThemeColors& colors) const
{
    const Words words = wordsBelow(m_cells.area(), text());
    painter.setFont(m_cells.fonts().text);
    painter.setPen(colors.muted);
    painter.drawText(areaOf(words), Qt::AlignLeft | Qt::TextDontClip, words.lines.join(u'\n'));
}

} // namespace headwise::ui
