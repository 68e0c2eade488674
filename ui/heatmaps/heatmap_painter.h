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

/// The meaning of the rows, or of the columns, of a matrix.
struct HeatmapAxis {
    QString title;                     ///< "source token"; empty: none.
    std::function<QString(int)> label; ///< Name of a row or column; empty: its index.
    int groupSize =
        0; ///< Rows per group, such as the heads of a layer; a thin line separates groups. 0: no groups.
    /// Name of a group, for when the rows' own names do not fit.
    std::function<QString(int)> groupLabel = {};
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
HeatmapNorms normsOf(const Eigen::MatrixXf& matrix); ///< Ignores values that are not finite.

/// Everything that a matrix picture depends on except its size and colours.
struct HeatmapScene {
    std::shared_ptr<const Eigen::MatrixXf> matrix; // This or `tiles`; both null when empty.
    std::shared_ptr<const TiledCircuit> tiles;     // A circuit too large to form.
    Aggregate aggregate = Aggregate::Strongest;    ///< Value shown by a pixel that covers several cells.
    std::shared_ptr<const HeatmapNorms> norms;     ///< Null: no bars.
    ColorScale scale;
    HeatmapAxis rows;
    HeatmapAxis columns;
    QRectF visible; ///< In cells: x counts columns, y rows.
    bool nanIsAbsent =
        false; ///< Leaves cells that are not finite empty instead of marking them, if that is no finding.

    Eigen::Index rowCount() const { return matrix ? matrix->rows() : tiles ? tiles->rows() : 0; }
    Eigen::Index columnCount() const { return matrix ? matrix->cols() : tiles ? tiles->cols() : 0; }
    bool isEmpty() const { return rowCount() == 0 || columnCount() == 0; }
    float at(Eigen::Index row, Eigen::Index column) const
    {
        return matrix ? (*matrix)(row, column) : tiles->at(row, column);
    }
    QRect visibleCells() const; ///< Cells of which at least a part is visible.
    /// Returns the visible cells as numbers, [rows, columns] of visibleCells(): a few ten thousand at most.
    Eigen::MatrixXf visibleValues() const;
};

/// The matrix at half, quarter, … resolution. An entry is the strongest of the cells under it (largest magnitude), so
/// that a single large entry never disappears, or their mean. A value that is not finite wins over all others.
class MatrixPyramid {
public:
    MatrixPyramid(std::shared_ptr<const Eigen::MatrixXf> matrix, Aggregate aggregate);
    const Eigen::MatrixXf& level(int index); ///< Made on first request; 0 is the matrix itself.

private:
    std::shared_ptr<const Eigen::MatrixXf> m_matrix;
    Aggregate m_aggregate;
    std::vector<Eigen::MatrixXf> m_levels; // m_levels[i] is level i + 1.
};

/// Renders the visible cells of a matrix at `size` device pixels: nearest neighbour if a cell has at least a pixel, else
/// the scene's aggregate. Cells that are not finite are hatched in `colors`. Out-of-range cells have the colour of their end
/// of the map.
QImage heatmapImage(const HeatmapScene& scene, MatrixPyramid& pyramid, const QSize& size,
                    const ThemeColors& colors);

/// Returns the tile level whose entries are as large as a pixel or slightly larger.
int tileLevel(const HeatmapScene& scene, const QSize& size);
/// Renders the same picture from the tiles in memory; coarser ones replace missing ones.
/// \param visible receives the tiles that the picture needs, empty if the overview is enough
QImage tiledImage(const HeatmapScene& scene, TileLoader& loader, const QSize& size,
                  std::vector<TileKey>& visible);

inline constexpr double markSize =
    6; ///< Minimum size of a cell, in pixels or points, for an out-of-range mark.
/// ▲ in cells above the upper limit, ▼ in cells below the lower one.
void paintHeatmapMarks(QPainter& painter, const QRectF& cells, const HeatmapScene& scene);

/// The space of a picture that titles and labels take.
struct HeatmapRoom {
    double rowTitle = 0; // All in units of the picture.
    double rowLabels = 0;
    double columnTitle = 0;
    double columnLabels = 0;
    double norms = 0;             ///< Space for the bars at the right and at the bottom.
    bool flatColumnLabels = true; ///< Otherwise they are written upwards.

    QMarginsF margins() const
    {
        return {rowTitle + rowLabels, columnTitle + columnLabels, 1 + norms, 1 + norms};
    }
};

/// Independent of the zoom, so that the cells stay in place.
HeatmapRoom heatmapRoom(const HeatmapScene& scene, const QSizeF& size, const HeatmapFonts& fonts,
                        const QPaintDevice* device);

struct HeatmapLook {
    const HeatmapFonts& fonts;
    const ThemeColors& colors;
};

/// Paints titles and the labels of the visible rows and columns around `cells`: all names if they fit, or every second or
/// fifth, else indices at round steps.
void paintHeatmapAxes(QPainter& painter, const QRectF& cells, const HeatmapRoom& room,
                      const HeatmapScene& scene, const HeatmapLook& look);
/// Paints a bar for the norm of each row beside it and of each column below it. The longest bar of all rows fills the
/// space.
void paintHeatmapNorms(QPainter& painter, const QRectF& cells, const HeatmapRoom& room,
                       const HeatmapScene& scene, const ThemeColors& colors);
/// Paints the number in every visible cell, in black or white; in none if the widest number does not fit its cell.
void paintHeatmapValues(QPainter& painter, const QRectF& cells, const HeatmapScene& scene, const QFont& font);
/// Paints the visible cells as rectangles, for vector formats (SVG, PDF). A few thousand at most.
void paintHeatmapCells(QPainter& painter, const QRectF& cells, const HeatmapScene& scene,
                       const ThemeColors& colors);
/// Paints a ring that is visible on every colour: the accent between two lines in the background colour.
void paintCellRing(QPainter& painter, const QRectF& cell, const ThemeColors& colors, Qt::PenStyle style);
/// Paints a thin ring in the accent colour that is visible on every colour.
void paintThinRing(QPainter& painter, const QRectF& area, const ThemeColors& colors);

/// The rectangle of one cell when `cells` shows `scene.visible`.
QRectF cellRect(const QRectF& cells, const HeatmapScene& scene, int row, int column);

} // namespace headwise::ui
