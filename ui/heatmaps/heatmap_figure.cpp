#include "ui/heatmaps/heatmap_figure.h"

#include "ui/base/text.h"
#include "ui/figures/figure_export_title.h"
#include "ui/figures/math_text.h"
#include "ui/heatmaps/color_bar_painter.h"
#include "ui/heatmaps/heatmap_groups.h"
#include "ui/heatmaps/heatmap_view.h"

#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace headwise::ui {

namespace {

constexpr double mostCells = 1600;     // cells drawn as rectangles; more become one lossless picture
constexpr int mostPixels = 4096;       // of that picture, in each direction
constexpr double heatmapFigureGap = 6; // points

/// The names along the axes of a figure.
enum class NamesOnPaper { All, EverySecond, EveryFifth, Groups, Indices };

/// Shrinks the names of rows and columns to at most smallestType() until each has room. If they have none, groups such as
/// layers are named instead, else every second or fifth row; if that is no help, indices replace the names.
NamesOnPaper fitNames(HeatmapScene& scene, HeatmapFonts& fonts, const QSizeF& size,
                      const QPaintDevice* device)
{
    if (!scene.rows.label && !scene.columns.label)
        return NamesOnPaper::All;
    const auto cellWith = [&](const HeatmapFonts& used) {
        const QRectF cells =
            QRectF(QPointF(), size).marginsRemoved(heatmapRoom(scene, size, used, device).margins());
        return std::min(cells.width() / scene.visible.width(), cells.height() / scene.visible.height());
    };
    const double largest = fonts.labels.pointSizeF();
    const double smallest = smallestType(largest);
    const auto fits = [&](int step) {
        for (double points = largest; points >= smallest; points -= 0.5) { // by trial: heights are rounded
            HeatmapFonts tried = fonts;
            tried.labels.setPointSizeF(points);
            if (step * cellWith(tried) >= 0.85 * QFontMetricsF(tried.labels, device).height()) {
                fonts = tried;
                return true;
            }
        }
        return false;
    };
    const bool hasGroups =
        (!scene.rows.label || scene.rows.groupLabel) && (!scene.columns.label || scene.columns.groupLabel);
    if (fits(1))
        return NamesOnPaper::All;
    if (!hasGroups && fits(2))
        return NamesOnPaper::EverySecond;
    if (!hasGroups && fits(5))
        return NamesOnPaper::EveryFifth;
    scene.rows.label = nullptr;
    scene.columns.label = nullptr;
    return hasGroups ? NamesOnPaper::Groups : NamesOnPaper::Indices;
}

QString omissionOf(NamesOnPaper names)
{
    switch (names) {
    case NamesOnPaper::All: return {};
    case NamesOnPaper::EverySecond: return HeatmapView::tr("only every second name fits");
    case NamesOnPaper::EveryFifth: return HeatmapView::tr("only every fifth name fits");
    case NamesOnPaper::Groups: return HeatmapView::tr("groups are named instead of single rows and columns");
    case NamesOnPaper::Indices: return HeatmapView::tr("names do not fit; indices replace them");
    }
    return {};
}

/// Shows whole cells of a matrix: the picture has a pixel, and the table a number, for each.
HeatmapScene shownOnPaper(const HeatmapScene& onScreen)
{
    HeatmapScene scene = onScreen;
    if (scene.matrix)
        scene.visible = QRectF(onScreen.visibleCells());
    return scene;
}

QRectF squared(const QRectF& area, const QRectF& visible)
{
    const double side = std::min(area.width() / visible.width(), area.height() / visible.height());
    return {area.left(), area.top(), side * visible.width(), side * visible.height()};
}

/// Returns one pixel per cell; for tiles, one per entry of the level on screen, which is in memory.
QSize pixelsOf(const HeatmapScene& scene, int level)
{
    const auto pixels = [level](double cells) {
        return std::clamp(static_cast<int>(std::ceil(std::ldexp(cells, -level) - 1e-9)), 1, mostPixels);
    };
    return {pixels(scene.visible.width()), pixels(scene.visible.height())};
}

/// Limits the size to the pixels of the device, which would drop cells instead of showing the strongest.
QSize onDevice(const QPainter& painter, const QRectF& cells, const QSize& pixels)
{
    const auto* recording = dynamic_cast<const PaintRecording*>(painter.device());
    const bool isOfPixels =
        recording ? recording->pixelsPerPoint().has_value() : painter.device()->devType() == QInternal::Image;
    if (!isOfPixels)
        return pixels;
    const QSizeF there =
        painter.combinedTransform().mapRect(cells).size() * (recording ? *recording->pixelsPerPoint() : 1.0);
    return pixels.boundedTo(QSizeF(std::ceil(there.width()), std::ceil(there.height())).toSize())
        .expandedTo({1, 1});
}

/// Avoids hatching: on single pixels every other one would look like a zero.
ThemeColors picturesColors(const HeatmapScene& scene)
{
    ThemeColors colors = lightColors();
    if (!scene.nanIsAbsent)
        colors.base = colors.border;
    return colors;
}

/// Paints the note in lines at the top of `area`, in the painter's font. \return their height
double paintNoteIn(QPainter& painter, const QRectF& area, const QString& note)
{
    const QFontMetricsF metrics(painter.font(), painter.device());
    painter.setPen(lightColors().muted);
    double height = 0;
    for (const QString& line : wrappedLines(note, painter.font(), area.width(), painter.device())) {
        painter.drawText(QPointF(area.left(), area.top() + height + metrics.ascent()), line);
        height += metrics.height();
    }
    return height;
}

/// The label of the bar in lines of at most `height`; the last line has what more lines would.
QStringList titleLines(const QString& title, const QFont& font, double height, const QPaintDevice* device)
{
    constexpr qsizetype mostLines = 3;
    if (title.isEmpty() || mathWidth(title, font, device) <= height)
        return title.isEmpty() ? QStringList() : QStringList{title};
    QStringList lines = wrappedLines(title, font, height, device);
    while (lines.size() > mostLines) {
        const QString last = lines.takeLast();
        lines.last() += u' ' + last;
    }
    return lines;
}

/// Upwards at the right end of `area`, in the painter's font; as near to the middle of `cells` as it can stand whole.
void paintValueTitle(QPainter& painter, const QRectF& area, const QRectF& cells, const QStringList& lines)
{
    const QFontMetricsF metrics(painter.font(), painter.device());
    painter.setPen(lightColors().text);
    for (qsizetype i = 0; i < lines.size(); ++i) {
        const bool isWhole = mathWidth(lines[i], painter.font(), painter.device()) <= area.height();
        const QString shown =
            isWhole ? lines[i] : metrics.elidedText(lines[i], Qt::ElideRight, area.height());
        const double width = mathWidth(shown, painter.font(), painter.device());
        const double bottom = std::clamp(cells.center().y() + width / 2, area.top() + width,
                                         std::max(area.top() + width, area.bottom()));
        const double behind = static_cast<double>(lines.size() - 1 - i) * metrics.height();
        painter.save();
        painter.translate(area.right() - metrics.descent() - behind, bottom);
        painter.rotate(-90);
        drawMath(painter, QPointF(0, 0), shown);
        painter.restore();
    }
}

void paintCells(QPainter& painter, const QRectF& cells, const HeatmapScene& scene,
                const std::function<QImage()>& picture)
{
    const ThemeColors& colors = lightColors();
    painter.setRenderHint(QPainter::Antialiasing, false);
    if (scene.visible.width() * scene.visible.height() <= mostCells) {
        paintHeatmapCells(painter, cells, scene, colors);
    } else {
        painter.setRenderHint(QPainter::LosslessImageRendering);
        painter.drawImage(cells, picture());
    }
    painter.setRenderHint(QPainter::Antialiasing);
}

/// Paints lines between groups, marks, the frame, and the number of every cell if cells are large enough.
void paintOverCells(QPainter& painter, const QRectF& cells, const HeatmapScene& scene, const QFont& font,
                    const QPen& pen)
{
    paintHeatmapGroups(painter, cells, scene, pen);
    paintHeatmapMarks(painter, cells, scene);
    const QFontMetricsF metrics(font, painter.device());
    const double cellWidth = cells.width() / scene.visible.width();
    const double cellHeight = cells.height() / scene.visible.height();
    if (cellWidth >= metrics.horizontalAdvance(QStringLiteral("−0.000")) + 4
        && cellHeight >= metrics.height())
        paintHeatmapValues(painter, cells, scene, font);
    painter.setBrush(Qt::NoBrush);
    painter.setPen(pen);
    painter.drawRect(cells);
}

} // namespace

HeatmapFigure::HeatmapFigure(const HeatmapContent* content, const HeatmapNote& note, HeatmapCellShape shape)
    : m_content(content)
    , m_note(note)
    , m_shape(shape)
{
}

QSize HeatmapFigure::pixels() const
{
    return pixelsOf(shownOnPaper(m_content->scene()), std::max(0, m_content->level()));
}

QRectF HeatmapFigure::paintHead(QPainter& painter, const QSizeF& size, const FigureStyle& style,
                                const FigureSource& source, const QFont& font) const
{
    QRectF area(QPointF(), size);
    area.setTop(paintFigureTitle(painter, source, size.width(), style));
    const QString note = m_note.textFor(pixels());
    if (!note.isEmpty()) {
        painter.setFont(font);
        area.setTop(area.top() + paintNoteIn(painter, area, note) + heatmapFigureGap);
    }
    return area;
}

QString HeatmapFigure::valueTitle(const FigureStyle& style) const
{
    return style.edits.valueTitle.empty() ? m_content->valueTitle() : text(style.edits.valueTitle);
}

HeatmapFigure::BarRoom HeatmapFigure::roomOfBar(const FigureStyle& style, double height,
                                                const QPaintDevice* device) const
{
    const QFont font = figureFont(style);
    const QStringList lines = titleLines(valueTitle(style), font, height, device);
    return {colorBarExtent(m_content->scene().scale, Qt::Vertical, font, device),
            lines.isEmpty() ? 0
                            : QFontMetricsF(font, device).height() * static_cast<double>(lines.size()) + 2,
            lines};
}

QRectF HeatmapFigure::withoutBar(QRectF area, const FigureStyle& style, const BarRoom& room) const
{
    if (!style.colorBar)
        return area;
    const double overhang = colorBarOverhang(m_content->scene().scale);
    area.setTop(std::max(area.top(), overhang));
    area.setRight(area.right() - room.bar - room.title - heatmapFigureGap - 3);
    area.setBottom(area.bottom() - overhang);
    return area;
}

struct HeatmapFigure::Layout {
    HeatmapFonts fonts;
    HeatmapScene scene;
    BarRoom bar;
    QRectF area; ///< Cells, names and axes.
    QRectF cells;
    HeatmapRoom room;
    QString omission; ///< Says which names have no room.
};

QStringList HeatmapFigure::omissions(const QSizeF& size, const FigureStyle& style,
                                     const FigureSource& source) const
{
    PaintRecording page(size, std::nullopt);
    QPainter painter(&page);
    const Layout layout = layOut(painter, size, style, source);
    QStringList said;
    if (!layout.omission.isEmpty())
        said << layout.omission;
    const QFont font = figureFont(style);
    const auto isCut = [&](const QString& line) {
        return mathWidth(line, font, &page) > layout.area.height() + 0.5;
    };
    if (style.colorBar && std::ranges::any_of(layout.bar.lines, isCut))
        said << HeatmapView::tr("the label of the colour bar is shortened");
    return said;
}

HeatmapFigure::Layout HeatmapFigure::layOutBelow(const QRectF& below, const FigureStyle& style,
                                                 const BarRoom& bar, const QPaintDevice* device) const
{
    Layout layout{
        {figureFont(style), figureTokenFont(style)}, shownOnPaper(m_content->scene()), bar, {}, {}, {}, {}};
    layout.area = withoutBar(below, style, bar);
    if (style.axes) {
        layout.omission = omissionOf(fitNames(layout.scene, layout.fonts, layout.area.size(), device));
        layout.room = heatmapRoom(layout.scene, layout.area.size(), layout.fonts, device);
    }
    layout.cells = layout.area.marginsRemoved(layout.room.margins());
    if (m_shape == HeatmapCellShape::Square)
        layout.cells = squared(layout.cells, layout.scene.visible);
    return layout;
}

HeatmapFigure::Layout HeatmapFigure::layOut(QPainter& painter, const QSizeF& size, const FigureStyle& style,
                                            const FigureSource& source) const
{
    const QFont font = figureFont(style);
    const QPaintDevice* device = painter.device();
    const QRectF below = paintHead(painter, size, style, source, font);
    BarRoom bar = roomOfBar(style, below.height(), device);
    Layout layout = layOutBelow(below, style, bar, device);
    if (!style.colorBar)
        return layout;
    // The length of the bar decides which numbers stand beside it, and their label follows them closely.
    bar.bar = colorBarWidth(layout.scene.scale, layout.cells.height(), font, device);
    layout = layOutBelow(below, style, bar, device);
    const double longer = colorBarWidth(layout.scene.scale, layout.cells.height(), font, device);
    if (longer <= bar.bar)
        return layout;
    bar.bar = longer; // square cells became larger, and with them the bar and its numbers
    return layOutBelow(below, style, bar, device);
}

QRectF HeatmapFigure::cellsOnPaper(const QSizeF& size, const FigureStyle& style,
                                   const FigureSource& source) const
{
    PaintRecording page(size, std::nullopt);
    QPainter painter(&page);
    return layOut(painter, size, style, source).cells;
}

void HeatmapFigure::paint(QPainter& painter, const QSizeF& size, const FigureStyle& style,
                          const FigureSource& source) const
{
    const ThemeColors& colors = lightColors();
    const Layout layout = layOut(painter, size, style, source);
    const auto& [fonts, scene, barRoom, area, cells, room, omission] = layout;
    if (cells.width() <= 0 || cells.height() <= 0)
        return;
    paintCells(painter, layout.cells, layout.scene, [&] {
        return m_content->image(layout.scene, onDevice(painter, layout.cells, pixels()),
                                picturesColors(layout.scene));
    });
    paintOverCells(painter, cells, scene, fonts.text, QPen(colors.muted, 0.5 * style.lineWidth));
    if (scene.visibleCells().contains(m_marked)) {
        const QSizeF cell(cells.width() / scene.visible.width(), cells.height() / scene.visible.height());
        const QPointF corner((m_marked.x() - scene.visible.left()) * cell.width(),
                             (m_marked.y() - scene.visible.top()) * cell.height());
        paintCellRing(painter, {cells.topLeft() + corner, cell}, colors, Qt::SolidLine);
    }
    if (style.axes) {
        paintHeatmapAxes(painter, cells, room, scene, {fonts, colors});
        paintHeatmapNorms(painter, cells, room, scene, colors);
    }
    if (style.colorBar) {
        painter.setFont(fonts.text);
        const QRectF bar(cells.right() + room.norms + heatmapFigureGap + 2, cells.top(), barRoom.bar,
                         cells.height());
        paintColorBar(painter, bar, scene.scale, Qt::Vertical, colors);
        paintValueTitle(painter, QRectF(area.topLeft(), QPointF(bar.right() + barRoom.title, area.bottom())),
                        cells, barRoom.lines);
    }
}

} // namespace headwise::ui
