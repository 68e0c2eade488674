#include "ui/heatmaps/heatmap_painter.h"

#include "ui/base/text.h"
#include "ui/figures/figure_export_title.h"
#include "ui/figures/math_text.h"

#include <QFontMetricsF>
#include <QLineF>
#include <QPainter>

#include <algorithm>
#include <cmath>
#include <utility>

namespace headwise::ui {

namespace {

constexpr double heatmapPainterGap = 4;
constexpr double normBars = 28;
// Enough to estimate the width of labels; all 50 000 would be slow.
constexpr int sampledLabels = 256;
constexpr int measuredLabels = 24;           // the longest of them
constexpr char16_t firstWideLetter = 0x1100; // From Hangul on, most letters are twice as wide.

int count(const HeatmapScene& scene, Qt::Orientation axis)
{
    return static_cast<int>(axis == Qt::Vertical ? scene.rowCount() : scene.columnCount());
}

/// Estimates the length of a text without the font, because hundreds of font queries take longer than a frame.
int columnsOf(const QString& text)
{
    return static_cast<int>(text.size() + std::count_if(text.begin(), text.end(), [](QChar letter) {
                                return letter.unicode() >= firstWideLetter;
                            }));
}

double heatmapPainterWidestLabel(const HeatmapAxis& axis, int size, const QFontMetricsF& metrics)
{
    const double number = metrics.horizontalAdvance(QString::number(std::max(0, size - 1)));
    if (!axis.label || size == 0)
        return number;
    std::vector<std::pair<int, QString>> labels;
    const int step = std::max(1, size / sampledLabels);
    labels.reserve(static_cast<std::size_t>(size) / static_cast<std::size_t>(step) + 1);
    for (int i = 0; i < size; i += step) {
        const QString label = axis.label(i);
        labels.emplace_back(columnsOf(label), label);
    }
    // A few tokens of a vocabulary are far longer than the rest and are shortened.
    const auto all = std::ssize(labels);
    const auto end = labels.begin() + (step > 1 ? all * 19 / 20 + 1 : all);
    const auto first = end - std::min<std::ptrdiff_t>(measuredLabels, end - labels.begin());
    std::nth_element(labels.begin(), end - 1, labels.end());
    std::nth_element(labels.begin(), first, end);
    double widest = number;
    for (auto label = first; label != end; ++label)
        widest = std::max(widest, metrics.horizontalAdvance(label->second));
    return widest;
}

const QFont& fontOf(const HeatmapAxis& axis, const HeatmapFonts& fonts)
{
    return axis.label ? fonts.labels : fonts.text;
}

// Returns the smallest of 1, 2, 5, 10, 20, … that leaves space for each label.
int niceStep(double cellSize, double room)
{
    int decade = 1;
    while (10 * decade * cellSize < room && decade < 100'000'000)
        decade *= 10;
    for (const int factor : {1, 2, 5})
        if (factor * decade * cellSize >= room)
            return factor * decade;
    return 10 * decade;
}

/// The labels of one axis as currently drawn.
struct Labels {
    const HeatmapAxis& axis;
    QFont font;
    QFontMetricsF metrics;
    int step = 1; // Rows or columns from one label to the next.
    int span = 1; // Rows or columns that one label covers.
    bool names = false;
    int first = 0;
    int end = 0;

    QString at(int index) const
    {
        return names ? axis.label(index) : span > 1 ? axis.groupLabel(index / span) : QString::number(index);
    }
};

/// The direction of an axis and of the names along it.
struct LabelPlace {
    Qt::Orientation orientation;
    bool isInLine;   // The names lie along the axis, so that their widths count; otherwise their heights do.
    double cellSize; // along the axis
};

Labels labelsFor(const HeatmapScene& scene, const LabelPlace& place, const HeatmapFonts& fonts,
                 const QPaintDevice* device)
{
    const bool vertical = place.orientation == Qt::Vertical;
    const double cellSize = place.cellSize;
    const HeatmapAxis& axis = vertical ? scene.rows : scene.columns;
    const QFontMetricsF metrics(fontOf(axis, fonts), device);
    const int size = count(scene, place.orientation);
    const double nameRoom = place.isInLine
        ? heatmapPainterWidestLabel(axis, size, metrics) + heatmapPainterGap
        : 0.85 * metrics.height();
    // Every second or fifth name says more than numbers do; numbers are the last resort.
    const int namesStep = niceStep(cellSize, nameRoom);
    const bool names = axis.label && namesStep <= 5;
    const QFontMetricsF text(fonts.text, device);
    const double indexRoom = vertical ? 1.1 * text.height()
                                      : text.horizontalAdvance(QString::number(size)) + 2 * heatmapPainterGap;
    const int span = !names && axis.groupLabel ? std::max(1, axis.groupSize) : 1;
    Labels labels{.axis = axis,
                  .font = names ? fonts.labels : fonts.text,
                  .metrics = names ? metrics : text,
                  .step = names ? namesStep : span * niceStep(span * cellSize, indexRoom),
                  .span = span,
                  .names = names};
    const double from = vertical ? scene.visible.top() : scene.visible.left();
    const double to = vertical ? scene.visible.bottom() : scene.visible.right();
    labels.first = static_cast<int>(from / labels.step) * labels.step;
    labels.end = std::min(size, static_cast<int>(std::ceil(to)));
    return labels;
}

/// \return the width they take: that of numbers is less than `room` if names have room
double paintRowLabels(QPainter& painter, const QRectF& cells, double room, const HeatmapScene& scene,
                      const Labels& labels)
{
    painter.setFont(labels.font);
    const QFontMetricsF& metrics = labels.metrics;
    double widest = 0;
    for (int row = labels.first; row < labels.end; row += labels.step) {
        const QRectF cell = cellRect(cells, scene, row, 0);
        const double y = cell.top() + labels.span * cell.height() / 2;
        if (y < cells.top() || y > cells.bottom())
            continue;
        const QString shown = metrics.elidedText(labels.at(row), Qt::ElideMiddle, room - heatmapPainterGap);
        const double width = metrics.horizontalAdvance(shown);
        widest = std::max(widest, width);
        // The last label of low rows ends with the map, whose lower side may be that of the paper.
        const double baseline =
            std::min(y + (metrics.ascent() - metrics.descent()) / 2, cells.bottom() - metrics.descent());
        painter.drawText(QPointF(cells.left() - heatmapPainterGap - width, baseline), shown);
    }
    return labels.names ? room : std::min(room, widest + 2 * heatmapPainterGap);
}

/// \return the height they take
double paintColumnLabels(QPainter& painter, const QRectF& cells, const HeatmapRoom& room,
                         const HeatmapScene& scene, const Labels& labels)
{
    painter.setFont(labels.font);
    const QFontMetricsF& metrics = labels.metrics;
    const bool flat = room.flatColumnLabels || !labels.names;
    double free = cells.left() - room.rowLabels; // where the next flat label may begin
    for (int column = labels.first; column < labels.end; column += labels.step) {
        const QRectF cell = cellRect(cells, scene, 0, column);
        const double x = cell.left() + labels.span * cell.width() / 2;
        if (x < cells.left() || x > cells.right())
            continue;
        if (flat) {
            const QString shown = labels.at(column);
            const double width = metrics.horizontalAdvance(shown);
            // The last one moves left to end with the map, unless that would touch the one before.
            const double left = std::min(x - width / 2, std::max(cells.left(), cells.right() - width));
            if (left < free)
                continue;
            free = left + width + heatmapPainterGap;
            painter.drawText(QPointF(left, cells.top() - heatmapPainterGap - metrics.descent()), shown);
            continue;
        }
        painter.save();
        const double baseline =
            std::min(x + (metrics.ascent() - metrics.descent()) / 2, cells.right() - metrics.descent());
        painter.translate(baseline, cells.top() - heatmapPainterGap);
        painter.rotate(-90);
        painter.drawText(
            QPointF(0, 0),
            metrics.elidedText(labels.at(column), Qt::ElideMiddle, room.columnLabels - heatmapPainterGap));
        painter.restore();
    }
    return labels.names ? room.columnLabels
                        : std::min(room.columnLabels, metrics.height() + heatmapPainterGap);
}

} // namespace

QString axisLabel(const HeatmapAxis& axis, int index)
{
    return axis.label ? axis.label(index) : QString::number(index);
}

HeatmapAxis labelledAxis(const QString& title, const QStringList& labels)
{
    return {title, [labels](int index) { return labels.value(index); }};
}

QRectF cellRect(const QRectF& cells, const HeatmapScene& scene, int row, int column)
{
    const double width = cells.width() / scene.visible.width();
    const double height = cells.height() / scene.visible.height();
    return {cells.left() + (column - scene.visible.left()) * width,
            cells.top() + (row - scene.visible.top()) * height, width, height};
}

HeatmapRoom heatmapRoom(const HeatmapScene& scene, const QSizeF& size, const HeatmapFonts& fonts,
                        const QPaintDevice* device)
{
    const int rows = count(scene, Qt::Vertical);
    const int columns = count(scene, Qt::Horizontal);
    if (rows == 0 || columns == 0)
        return {};
    // Names take at most this share of a small picture: enough for <|endoftext|> on a page of 85 × 70 mm.
    constexpr double share = 0.4, longest = 160;
    const double title = QFontMetricsF(fonts.text, device).height() + heatmapPainterGap;
    HeatmapRoom room;
    room.norms = scene.norms ? std::min(normBars, 0.15 * std::min(size.width(), size.height())) : 0;
    room.rowTitle = scene.rows.title.isEmpty() ? 0 : title;
    room.rowLabels =
        std::min(std::min(share * size.width(), longest),
                 heatmapPainterWidestLabel(scene.rows, rows, QFontMetricsF(fontOf(scene.rows, fonts), device))
                     + 2 * heatmapPainterGap);
    room.columnTitle = scene.columns.title.isEmpty() ? 0 : title;
    const QFontMetricsF names(fontOf(scene.columns, fonts), device);
    const double widest = heatmapPainterWidestLabel(scene.columns, columns, names);
    const double cellWidth = (size.width() - room.rowTitle - room.rowLabels - room.norms) / columns;
    room.flatColumnLabels = !scene.columns.label || widest + heatmapPainterGap <= cellWidth;
    room.columnLabels = room.flatColumnLabels
        ? names.height() + heatmapPainterGap
        : std::min(std::min(share * size.height(), longest), widest + 2 * heatmapPainterGap);
    return room;
}

void paintHeatmapAxes(QPainter& painter, const QRectF& cells, const HeatmapRoom& room,
                      const HeatmapScene& scene, const HeatmapLook& look)
{
    const HeatmapFonts& fonts = look.fonts;
    painter.save();
    painter.setPen(look.colors.muted);
    const QPaintDevice* device = painter.device();
    const double cellHeight = cells.height() / scene.visible.height();
    const double cellWidth = cells.width() / scene.visible.width();
    const double rowLabels =
        paintRowLabels(painter, cells, room.rowLabels, scene,
                       labelsFor(scene, {Qt::Vertical, false, cellHeight}, fonts, device));
    const double columnLabels = paintColumnLabels(
        painter, cells, room, scene,
        labelsFor(scene, {Qt::Horizontal, room.flatColumnLabels, cellWidth}, fonts, device));
    painter.setPen(look.colors.text);
    // A title that is longer than its side goes on over the labels of the other side.
    const QFontMetricsF text(fonts.text, device);
    const double left = cells.left() - rowLabels - room.rowTitle, top = cells.top() - columnLabels;
    const FittedTitle across(scene.columns.title, fonts.text, cells.right() - left, device);
    painter.setFont(across.font);
    drawMath(painter,
             QPointF(across.first(cells.center().x(), left, cells.right()),
                     top - room.columnTitle + text.ascent()),
             across.text);
    const FittedTitle down(scene.rows.title, fonts.text, cells.bottom() - top, device);
    painter.setFont(down.font);
    painter.translate(left + text.ascent(), -down.first(-cells.center().y(), -cells.bottom(), -top));
    painter.rotate(-90);
    drawMath(painter, QPointF(0, 0), down.text);
    painter.restore();
}

void paintThinRing(QPainter& painter, const QRectF& area, const ThemeColors& colors)
{
    painter.save();
    painter.setBrush(Qt::NoBrush);
    for (const QPen& pen : {QPen(colors.base, 3), QPen(colors.accent, 1)}) {
        painter.setPen(pen);
        painter.drawRect(area);
    }
    painter.restore();
}

void paintCellRing(QPainter& painter, const QRectF& cell, const ThemeColors& colors, Qt::PenStyle style)
{
    painter.save();
    painter.setBrush(Qt::NoBrush);
    // At least 8 px wide, to be visible on a map of thousands of cells.
    const double grow = std::max(0.0, (8 - std::min(cell.width(), cell.height())) / 2);
    const QRectF ring = cell.adjusted(-grow, -grow, grow, grow);
    painter.setPen(QPen(colors.base, 4, Qt::SolidLine, Qt::SquareCap, Qt::MiterJoin));
    painter.drawRect(ring);
    painter.setPen(QPen(colors.accent, 2, style, Qt::FlatCap, Qt::MiterJoin));
    painter.drawRect(ring);
    painter.restore();
}

} // namespace headwise::ui
