#pragma once

#include "core/results/tiled_circuit.h"
#include "ui/base/theme.h"
#include "ui/heatmaps/tile_loader.h"

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
    int groupSize =
        0; ///< So many are a group, as the heads of a layer: a thin line parts them. 0: no groups.
    std::function<QString(int)> groupLabel = {}; ///< Of a group, where the rows' own names have no room.
};
QString axisLabel(const HeatmapAxis& axis, int index);
HeatmapAxis labelledAxis(const QString& title, const QStringList& labels);

/// Fonts of one picture: sizes differ between screen and paper.
struct HeatmapFonts {
    QFont text;   ///< Titles, indices, values.
    QFont labels; ///< Tokens and other names.
};

/// Euclidean norms of the rows and of the columns, for the bars at the edges.
struct HeatmapNorms {
    Eigen::VectorXf rows;
    Eigen::VectorXf columns;
};
HeatmapNorms normsOf(const Eigen::MatrixXf& matrix); ///< Of what is finite.

/// Everything a picture of a matrix depends on but its size and its colours.
struct HeatmapScene {
    std::shared_ptr<const Eigen::MatrixXf> matrix; // This or `tiles`; both null when empty.
    std::shared_ptr<const TiledCircuit> tiles;     // What is too large to be formed.
    Aggregate aggregate = Aggregate::Strongest;    ///< What a pixel shows that covers several cells.
    std::shared_ptr<const HeatmapNorms> norms;     ///< Null: no bars.
    ColorScale scale;
    HeatmapAxis rows;
    HeatmapAxis columns;
    QRectF visible; ///< In cells: x counts columns, y rows.
    bool nanIsAbsent =
        false; ///< A cell that is not finite is left empty, not marked: there is nothing to know there.

    Eigen::Index rowCount() const { return matrix ? matrix->rows() : tiles ? tiles->rows() : 0; }
    Eigen::Index columnCount() const { return matrix ? matrix->cols() : tiles ? tiles->cols() : 0; }
    bool isEmpty() const { return rowCount() == 0 || columnCount() == 0; }
    float at(Eigen::Index row, Eigen::Index column) const
    {
        return matrix ? (*matrix)(row, column) : tiles->at(row, column);
    }
    QRect visibleCells() const; ///< Those of which at least a part is visible.
    /// The visible cells as numbers, [rows, columns] of visibleCells(): a few ten thousand at most.
    Eigen::MatrixXf visibleValues() const;
};

/// The matrix at half, quarter, … resolution. An entry is the strongest of the cells under it (largest magnitude),
/// so that a single large entry never disappears, or their mean; one that is not finite wins over all.
class MatrixPyramid {
public:
    MatrixPyramid(std::shared_ptr<const Eigen::MatrixXf> matrix, Aggregate aggregate);
    const Eigen::MatrixXf& level(int index); ///< Made when first asked for; 0 is the matrix itself.

private:
    std::shared_ptr<const Eigen::MatrixXf> m_matrix;
    Aggregate m_aggregate;
    std::vector<Eigen::MatrixXf> m_levels; // m_levels[i] is level i + 1.
};

/// The visible cells of a matrix at `size` device pixels: nearest neighbour where a cell has a pixel or more, else the
/// scene's aggregate. Cells that are not finite are hatched in `colors`; cells beyond the limits that are too small for a mark
/// have a colour of their own.
QImage heatmapImage(const HeatmapScene& scene, MatrixPyramid& pyramid, const QSize& size,
                    const ThemeColors& colors);

/// The level of a scene's tiles of which an entry is as large as a pixel or a little larger.
int tileLevel(const HeatmapScene& scene, const QSize& size);
/// The same picture from tiles, of those that are there; coarser ones stand in for the others.
/// \param visible receives the tiles that belong in the picture, empty where the overview is enough
QImage tiledImage(const HeatmapScene& scene, TileLoader& loader, const QSize& size,
                  std::vector<TileKey>& visible);

inline constexpr double markSize =
    6; ///< Pixels or points a cell must have each way to be marked where it is beyond the limits.
/// ▲ in cells above the upper limit, ▼ in cells below the lower one.
void paintHeatmapMarks(QPainter& painter, const QRectF& cells, const HeatmapScene& scene);

/// How much of a picture belongs to titles and labels.
struct HeatmapRoom {
    double rowTitle = 0; // All in the unit of the picture.
    double rowLabels = 0;
    double columnTitle = 0;
    double columnLabels = 0;
    double norms = 0;             ///< Of the bars at the right and at the bottom.
    bool flatColumnLabels = true; ///< Else they are written upwards.

    QMarginsF margins() const
    {
        return {rowTitle + rowLabels, columnTitle + columnLabels, 1 + norms, 1 + norms};
    }
};

/// Does not depend on the zoom, so that the cells stay where they are.
HeatmapRoom heatmapRoom(const HeatmapScene& scene, const QSizeF& size, const HeatmapFonts& fonts,
                        const QPaintDevice* device);

struct HeatmapLook {
    const HeatmapFonts& fonts;
    const ThemeColors& colors;
};

/// Titles and the labels of the visible rows and columns, around `cells`: the names of all where there is room, or of every
/// second or fifth, else indices at round steps.
void paintHeatmapAxes(QPainter& painter, const QRectF& cells, const HeatmapRoom& room,
                      const HeatmapScene& scene, const HeatmapLook& look);
/// A bar for the norm of each row beside it and of each column below it, the longest of all rows as long as there is room.
void paintHeatmapNorms(QPainter& painter, const QRectF& cells, const HeatmapRoom& room,
                       const HeatmapScene& scene, const ThemeColors& colors);
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
