// A heatmap on paper: the same painters, the light theme, the paper's size.

#include "ui/text.h"
#include "ui/views/color_bar.h"
#include "ui/views/heatmap_view.h"

#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace headwise::ui {

namespace {

constexpr double most = 10'000;  // cells drawn as rectangles; beyond, as one lossless picture
constexpr int mostPixels = 2048; // of that picture, each way
constexpr double gap = 6;        // points
constexpr double smallest = 4;   // points, of names that have little room

HeatmapFonts paperFonts(const FigureStyle& style, const QFont& base)
{
    HeatmapFonts fonts{base, tokenFont()};
    if (!style.fontFamily.isEmpty())
        fonts.text.setFamily(style.fontFamily);
    for (QFont* font : {&fonts.text, &fonts.labels}) {
        font->setPointSizeF(style.fontSize);
        font->setHintingPreference(QFont::PreferNoHinting);
    }
    return fonts;
}

/// Makes the names of rows and columns small enough for their cells; where even the smallest find no room, indices stand
/// there and the cells get the room.
void fitNames(HeatmapScene& scene, HeatmapFonts& fonts, const QSizeF& size, const QPaintDevice* device)
{
    if (!scene.rows.label && !scene.columns.label)
        return;
    const QSizeF cells =
        QRectF(QPointF(), size).marginsRemoved(heatmapRoom(scene, size, fonts, device).margins()).size();
    const double cell =
        std::min(cells.width() / scene.visible.width(), cells.height() / scene.visible.height());
    const double line = 0.85 * QFontMetricsF(fonts.labels, device).height();
    const double fitting = fonts.labels.pointSizeF() * std::min(1.0, cell / line);
    if (fitting >= smallest)
        return fonts.labels.setPointSizeF(fitting);
    scene.rows.label = nullptr;
    scene.columns.label = nullptr;
}

QRectF squared(const QRectF& area, const QRectF& visible)
{
    const double side = std::min(area.width() / visible.width(), area.height() / visible.height());
    return {area.left(), area.top(), side * visible.width(), side * visible.height()};
}

/// As many pixels as the picture has cells; of tiles, as it has entries of the level on screen, which are there.
QSize pixelsOf(const HeatmapScene& scene, int level)
{
    const auto pixels = [level](double cells) {
        return std::clamp(static_cast<int>(std::ceil(std::ldexp(cells, -level) - 1e-9)), 1, mostPixels);
    };
    return {pixels(scene.visible.width()), pixels(scene.visible.height())};
}

void paintCells(QPainter& painter, const QRectF& cells, const HeatmapScene& scene,
                const std::function<QImage()>& picture)
{
    const ThemeColors& colors = lightColors();
    painter.setRenderHint(QPainter::Antialiasing, false);
    if (scene.visible.width() * scene.visible.height() <= most) {
        paintHeatmapCells(painter, cells, scene, colors);
    } else {
        painter.setRenderHint(QPainter::LosslessImageRendering);
        painter.drawImage(cells, picture());
    }
    painter.setRenderHint(QPainter::Antialiasing);
}

} // namespace

void HeatmapView::paintFigure(QPainter& painter, const QSizeF& size, const FigureStyle& style) const
{
    if (isEmpty())
        return;
    HeatmapFonts fonts = paperFonts(style, font());
    HeatmapScene scene = m_scene;
    const ThemeColors& colors = lightColors();
    const QFontMetricsF metrics(fonts.text, painter.device());
    QRectF area(QPointF(), size);
    if (style.title && !figureTitle().isEmpty()) {
        QFont bold = fonts.text;
        bold.setWeight(QFont::DemiBold);
        painter.setFont(bold);
        painter.setPen(colors.text);
        painter.drawText(
            QPointF(0, metrics.ascent()),
            QFontMetricsF(bold, painter.device()).elidedText(figureTitle(), Qt::ElideRight, size.width()));
        area.setTop(metrics.height() + gap);
    }
    const QSize pixels = pixelsOf(scene, std::max(0, m_level));
    const QString note = noteOf(pixels);
    if (!note.isEmpty()) {
        painter.setFont(fonts.text);
        painter.setPen(colors.muted);
        painter.drawText(QPointF(0, area.top() + metrics.ascent()),
                         metrics.elidedText(note, Qt::ElideRight, size.width()));
        area.setTop(area.top() + metrics.height() + gap);
    }
    const double barWidth = colorBarExtent(m_scene.scale, Qt::Vertical, fonts.text, painter.device());
    if (style.colorBar)
        area.setRight(area.right() - barWidth - gap - 3);
    fitNames(scene, fonts, area.size(), painter.device());
    const HeatmapRoom room = heatmapRoom(scene, area.size(), fonts, painter.device());
    QRectF cells = area.marginsRemoved(room.margins());
    if (m_shape == CellShape::Square)
        cells = squared(cells, scene.visible);
    if (cells.width() <= 0 || cells.height() <= 0)
        return;
    paintCells(painter, cells, scene, [&] {
        std::vector<TileKey> visible;
        return scene.tiles ? tiledImage(scene, *m_loader, pixels, visible)
                           : heatmapImage(scene, *m_pyramid, pixels, colors);
    });
    paintHeatmapMarks(painter, cells, scene);
    const double cellWidth = cells.width() / scene.visible.width();
    const double cellHeight = cells.height() / scene.visible.height();
    if (cellWidth >= metrics.horizontalAdvance(QStringLiteral("−0.000")) + 4
        && cellHeight >= metrics.height())
        paintHeatmapValues(painter, cells, scene, fonts.text);
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(colors.muted, 0.5));
    painter.drawRect(cells);
    paintHeatmapAxes(painter, cells, room, scene, fonts, colors);
    paintHeatmapNorms(painter, cells, room, scene, colors);
    if (style.colorBar)
        paintColorBar(painter,
                      QRectF(cells.right() + room.norms + gap + 2, cells.top(), barWidth, cells.height()),
                      scene.scale, Qt::Vertical, fonts.text, colors);
}

// The visible part, as the picture has it: cells, or entries that stand for as many as a pixel does.
void HeatmapView::forEachDataRow(const std::function<void(const QStringList&)>& writeRow) const
{
    if (isEmpty())
        return;
    const int level = std::max(0, m_level);
    const QRect part = m_scene.visibleCells();
    const QRect entries(QPoint(part.left() >> level, part.top() >> level),
                        QPoint(part.right() >> level, part.bottom() >> level));
    const auto name = [level](const HeatmapAxis& axis, int entry, Eigen::Index count) {
        const int first = entry << level;
        const int last = std::min(static_cast<int>(count), (entry + 1) << level) - 1;
        return first == last ? axisLabel(axis, first) : QStringLiteral("%1–%2").arg(first).arg(last);
    };
    QStringList cells{m_scene.rows.title};
    for (int column = entries.left(); column <= entries.right(); ++column)
        cells << name(m_scene.columns, column, m_scene.columnCount());
    writeRow(cells);
    for (int row = entries.top(); row <= entries.bottom(); ++row) {
        cells = {name(m_scene.rows, row, m_scene.rowCount())};
        for (int column = entries.left(); column <= entries.right(); ++column)
            cells << exactNumber(level == 0 ? m_scene.at(row, column)
                                            : m_loader->best(m_scene.aggregate, level, row, column));
        writeRow(cells);
    }
}

} // namespace headwise::ui
