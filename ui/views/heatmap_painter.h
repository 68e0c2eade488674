#pragma once

#include "core/analysis/color_scale.h"
#include "ui/theme.h"

#include <QFont>
#include <QImage>
#include <QMarginsF>
#include <QRectF>
#include <QString>
#include <QStringList>

#include <functional>
#include <memory>
#include <vector>

class QPaintDevice;
class QPainter;

namespace headwise::ui {

/// What the rows, or the columns, of a matrix are.
struct HeatmapAxis {
    QString title;                     ///< "source token"; empty: none.
    std::function<QString(int)> label; ///< The name of one row or column; empty: its index.
};
QString axisLabel(const HeatmapAxis& axis, int index);
HeatmapAxis labelledAxis(const QString& title, const QStringList& labels);

/// Fonts of one picture: sizes differ between screen and paper.
struct HeatmapFonts {
    QFont text;   ///< Titles, indices, values.
    QFont labels; ///< Tokens and other names.
};

/// Everything a picture of a matrix depends on but its size and its colours.
struct HeatmapScene {
    std::shared_ptr<const Eigen::MatrixXf> matrix; // Null when empty.
    ColorScale scale;
    HeatmapAxis rows;
    HeatmapAxis columns;
    QRectF visible; ///< In cells: x counts columns, y rows.
    bool nanIsAbsent =
        false; ///< A cell that is not finite is left empty, not marked: there is nothing to know there.
};

/// The matrix at half, quarter, … resolution. An entry is the strongest of the cells under it (largest magnitude),
/// so that a single large entry never disappears; one that is not finite wins over all.
class StrongestPyramid {
public:
    explicit StrongestPyramid(std::shared_ptr<const Eigen::MatrixXf> matrix);
    const Eigen::MatrixXf& level(int index); ///< Made when first asked for; 0 is the matrix itself.

private:
    std::shared_ptr<const Eigen::MatrixXf> m_matrix;
    std::vector<Eigen::MatrixXf> m_levels; // m_levels[i] is level i + 1.
};

/// The visible cells at `size` device pixels: nearest neighbour where a cell has a pixel or more, else the strongest.
/// Cells that are not finite are hatched in `colors`.
QImage heatmapImage(const HeatmapScene& scene, StrongestPyramid& pyramid, const QSize& size,
                    const ThemeColors& colors);

/// How much of a picture belongs to titles and labels.
struct HeatmapRoom {
    double rowTitle = 0; // All in the unit of the picture.
    double rowLabels = 0;
    double columnTitle = 0;
    double columnLabels = 0;
    bool flatColumnLabels = true; ///< Else they are written upwards.

    QMarginsF margins() const { return {rowTitle + rowLabels, columnTitle + columnLabels, 1, 1}; }
};

/// Does not depend on the zoom, so that the cells stay where they are.
HeatmapRoom heatmapRoom(const HeatmapScene& scene, const QSizeF& size, const HeatmapFonts& fonts,
                        const QPaintDevice* device);

/// Titles and the labels of the visible rows and columns, around `cells`: all names where there is room for all, else
/// indices at round steps.
void paintHeatmapAxes(QPainter& painter, const QRectF& cells, const HeatmapRoom& room,
                      const HeatmapScene& scene, const HeatmapFonts& fonts, const ThemeColors& colors);
/// The number in every visible cell, in black or white.
void paintHeatmapValues(QPainter& painter, const QRectF& cells, const HeatmapScene& scene, const QFont& font);
/// The visible cells as rectangles, for devices that keep them (SVG, PDF). A few thousand at most.
void paintHeatmapCells(QPainter& painter, const QRectF& cells, const HeatmapScene& scene,
                       const ThemeColors& colors);
/// A ring that can be seen on every colour: the accent between two lines of the ground.
void paintCellRing(QPainter& painter, const QRectF& cell, const ThemeColors& colors, Qt::PenStyle style);

/// The rectangle of one cell when `cells` shows `scene.visible`.
QRectF cellRect(const QRectF& cells, const HeatmapScene& scene, int row, int column);

} // namespace headwise::ui
