// Drawing in and beside single cells: values, marks, norms, and cells as rectangles.

#include "ui/base/text.h"
#include "ui/heatmaps/cell_colors.h"
#include "ui/heatmaps/heatmap_groups.h"

#include <QFontMetricsF>
#include <QLineF>
#include <QPainter>
#include <QPen>
#include <QPolygonF>

#include <algorithm>
#include <cmath>

namespace headwise::ui {

namespace {

double linearPart(int channel)
{
    const double x = channel / 255.0;
    return x <= 0.04045 ? x / 12.92 : std::pow((x + 0.055) / 1.055, 2.4);
}

// Draws single lines, because neither QSvgGenerator's clipping nor its pattern brushes are reliable.
void paintHatch(QPainter& painter, const QRectF& area, double spacing)
{
    for (double offset = spacing / 2; offset < area.width() + area.height(); offset += spacing) {
        const double alongTop = std::min(offset, area.width());
        const double alongLeft = std::min(offset, area.height());
        painter.drawLine(QLineF(area.left() + alongTop, area.top() + offset - alongTop,
                                area.left() + offset - alongLeft, area.top() + alongLeft));
    }
}

/// Returns the largest norm of the rows (or columns) under each pixel of `pixels`, relative to the largest of all.
std::vector<double> normsUnder(const Eigen::VectorXf& norms, double from, double perPixel, int pixels)
{
    const double most = norms.size() > 0 ? norms.maxCoeff() : 0;
    std::vector<double> parts;
    for (int i = 0; i < pixels; ++i) {
        const auto first = static_cast<Eigen::Index>(from + i * perPixel);
        const auto end = static_cast<Eigen::Index>(std::ceil(from + (i + 1) * perPixel));
        const Eigen::Index begin = std::clamp<Eigen::Index>(first, 0, norms.size() - 1);
        const Eigen::Index count = std::clamp<Eigen::Index>(end - begin, 1, norms.size() - begin);
        parts.push_back(most > 0 ? double{norms.segment(begin, count).maxCoeff()} / most : 0);
    }
    return parts;
}

/// Opacity, 0 … 1, of lines between groups that are `apart` pixels or points from each other.
double groupStrength(double apart)
{
    constexpr double hidden = 8, full = 48;
    return std::clamp((apart - hidden) / (full - hidden), 0.0, 1.0);
}

QPen faded(QPen pen, double strength)
{
    QColor color = pen.color();
    color.setAlphaF(static_cast<float>(strength * color.alphaF()));
    pen.setColor(color);
    return pen;
}

/// The number of one cell.
struct CellText {
    float value;
    QString shown;
    double width;
    QPointF center;
};

/// Returns the numbers of the cells whose centre is visible; none if the widest does not fit its cell, because a map in
/// which only the negative numbers are missing misleads.
std::vector<CellText> cellTexts(const QRectF& cells, const HeatmapScene& scene, const QFontMetricsF& metrics)
{
    constexpr double beside = 1; // pixels or points at either side
    std::vector<CellText> texts;
    const QRect part = scene.visibleCells();
    const Eigen::MatrixXf values = scene.visibleValues();
    for (int row = part.top(); row <= part.bottom(); ++row) {
        for (int column = part.left(); column <= part.right(); ++column) {
            const float value = values(row - part.top(), column - part.left());
            const QRectF cell = cellRect(cells, scene, row, column);
            if (!std::isfinite(value) || !cells.contains(cell.center()))
                continue;
            const QString shown = number(double{value});
            const double width = metrics.horizontalAdvance(shown);
            if (width + 2 * beside > cell.width())
                return {};
            texts.push_back({value, shown, width, cell.center()});
        }
    }
    return texts;
}

} // namespace

double luminance(const QColor& color)
{
    return 0.2126 * linearPart(color.red()) + 0.7152 * linearPart(color.green())
        + 0.0722 * linearPart(color.blue());
}

QColor inkOn(Rgb ground)
{
    return luminance(QColor::fromRgb(ground)) > 0.179 ? QColor(0x10131A) : QColor(Qt::white);
}

QRect HeatmapScene::visibleCells() const
{
    const int left = static_cast<int>(visible.left() + 1e-9);
    const int top = static_cast<int>(visible.top() + 1e-9);
    const int right =
        std::min(static_cast<int>(std::ceil(visible.right() - 1e-9)), static_cast<int>(columnCount()));
    const int bottom =
        std::min(static_cast<int>(std::ceil(visible.bottom() - 1e-9)), static_cast<int>(rowCount()));
    return {left, top, right - left, bottom - top};
}

Eigen::MatrixXf HeatmapScene::visibleValues() const
{
    const QRect part = visibleCells();
    if (matrix)
        return matrix->block(part.top(), part.left(), part.height(), part.width());
    return *tiles->entries(Aggregate::Mean, {0, part.top(), part.left(), part.height(), part.width()},
                           Task{});
}

HeatmapNorms normsOf(const Eigen::MatrixXf& matrix)
{
    HeatmapNorms norms{Eigen::VectorXf::Zero(matrix.rows()), Eigen::VectorXf::Zero(matrix.cols())};
    for (Eigen::Index j = 0; j < matrix.cols(); ++j) {
        const Eigen::ArrayXf finite = matrix.col(j).array().isFinite().select(matrix.col(j).array(), 0);
        norms.columns(j) = finite.matrix().norm();
        norms.rows.array() += finite.square();
    }
    norms.rows = norms.rows.cwiseSqrt();
    return norms;
}

void paintHeatmapNorms(QPainter& painter, const QRectF& cells, const HeatmapRoom& room,
                       const HeatmapScene& scene, const ThemeColors& colors)
{
    if (!scene.norms || room.norms < 6)
        return;
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.setPen(Qt::NoPen);
    painter.setBrush(colors.muted);
    const double length = room.norms - 5;
    const int down = std::max(1, static_cast<int>(cells.height()));
    const auto rows = normsUnder(scene.norms->rows, scene.visible.top(), scene.visible.height() / down, down);
    const int across = std::max(1, static_cast<int>(cells.width()));
    const auto columns =
        normsUnder(scene.norms->columns, scene.visible.left(), scene.visible.width() / across, across);
    QList<QRectF> bars;
    for (int i = 0; i < down; ++i)
        bars << QRectF(cells.right() + 4, cells.top() + i, length * rows[static_cast<std::size_t>(i)], 1);
    for (int i = 0; i < across; ++i)
        bars << QRectF(cells.left() + i, cells.bottom() + 4, 1,
                       length * columns[static_cast<std::size_t>(i)]);
    painter.drawRects(bars);
    painter.restore();
}

void paintHeatmapValues(QPainter& painter, const QRectF& cells, const HeatmapScene& scene, const QFont& font)
{
    const QFontMetricsF metrics(font, painter.device());
    const std::vector<CellText> texts = cellTexts(cells, scene, metrics);
    if (texts.empty())
        return;
    painter.save();
    painter.setFont(font);
    const Colorizer color(scene.scale);
    for (const CellText& text : texts) {
        painter.setPen(inkOn(color(text.value)));
        painter.drawText(QPointF(text.center.x() - text.width / 2,
                                 text.center.y() + (metrics.ascent() - metrics.descent()) / 2),
                         text.shown);
    }
    painter.restore();
}

void paintHeatmapGroups(QPainter& painter, const QRectF& cells, const HeatmapScene& scene, const QPen& pen)
{
    const QRectF& shown = scene.visible;
    const double width = cells.width() / shown.width(), height = cells.height() / shown.height();
    if (const int size = scene.columns.groupSize; size > 0 && groupStrength(size * width) > 0) {
        painter.setPen(faded(pen, groupStrength(size * width)));
        for (Eigen::Index column = size; column < scene.columnCount(); column += size)
            if (const double at = static_cast<double>(column); at > shown.left() && at < shown.right()) {
                const double x = cells.left() + (at - shown.left()) * width;
                painter.drawLine(QLineF(x, cells.top(), x, cells.bottom()));
            }
    }
    if (const int size = scene.rows.groupSize; size > 0 && groupStrength(size * height) > 0) {
        painter.setPen(faded(pen, groupStrength(size * height)));
        for (Eigen::Index row = size; row < scene.rowCount(); row += size)
            if (const double at = static_cast<double>(row); at > shown.top() && at < shown.bottom()) {
                const double y = cells.top() + (at - shown.top()) * height;
                painter.drawLine(QLineF(cells.left(), y, cells.right(), y));
            }
    }
}

void paintHeatmapMarks(QPainter& painter, const QRectF& cells, const HeatmapScene& scene)
{
    const QRectF one = cellRect(cells, scene, 0, 0);
    if (std::min(one.width(), one.height()) < markSize)
        return;
    painter.save();
    painter.setClipRect(cells, Qt::IntersectClip);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    const Colorizer color(scene.scale);
    const QRect part = scene.visibleCells();
    const Eigen::MatrixXf values = scene.visibleValues();
    const double side = std::clamp(0.35 * std::min(one.width(), one.height()), 3.0, 7.0);
    for (int row = part.top(); row <= part.bottom(); ++row) {
        for (int column = part.left(); column <= part.right(); ++column) {
            const float value = values(row - part.top(), column - part.left());
            const bool isAbove = scene.scale.isAbove(value);
            if (!std::isfinite(value) || (!isAbove && !scene.scale.isBelow(value)))
                continue;
            const QRectF cell = cellRect(cells, scene, row, column);
            const double tip = isAbove ? cell.top() + 1 : cell.bottom() - 1;
            const double base = isAbove ? tip + side : tip - side;
            painter.setBrush(inkOn(color(value)));
            painter.drawPolygon(QPolygonF({{cell.right() - 1 - side, base},
                                           {cell.right() - 1, base},
                                           {cell.right() - 1 - side / 2, tip}}));
        }
    }
    painter.restore();
}

void paintHeatmapCells(QPainter& painter, const QRectF& cells, const HeatmapScene& scene,
                       const ThemeColors& colors)
{
    painter.save();
    const Colorizer color(scene.scale);
    const QRect part = scene.visibleCells();
    const Eigen::MatrixXf values = scene.visibleValues();
    for (int row = part.top(); row <= part.bottom(); ++row) {
        for (int column = part.left(); column <= part.right(); ++column) {
            const float value = values(row - part.top(), column - part.left());
            // Neighbours overlap slightly, because viewers show seams between them as white lines.
            const QRectF cell = cellRect(cells, scene, row, column).adjusted(0, 0, 0.15, 0.15) & cells;
            painter.setPen(Qt::NoPen);
            painter.setBrush(std::isfinite(value) ? QColor::fromRgb(color(value)) : colors.base);
            painter.drawRect(cell);
            if (std::isfinite(value) || scene.nanIsAbsent)
                continue;
            painter.setPen(QPen(colors.muted, 0.4));
            paintHatch(painter, cell, std::min(3.0, cell.width()));
        }
    }
    painter.restore();
}

} // namespace headwise::ui
