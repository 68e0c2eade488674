#pragma once

#include "ui/heatmaps/heatmap_painter.h"

#include <QObject>

#include <memory>

namespace headwise::ui {

/// The numbers of a heatmap, a matrix or a tiled circuit, with their axes, aggregates, norms and statistics. It owns the
/// scene, whose visible part is set by HeatmapZoom and whose scale by HeatmapColors.
class HeatmapContent : public QObject {
    Q_OBJECT

public:
    explicit HeatmapContent(QObject* parent);

    const HeatmapScene& scene() const { return m_scene; }
    void setVisible(const QRectF& cells) { m_scene.visible = cells; } ///< Called by HeatmapZoom.
    void setScale(const ColorScale& scale) { m_scene.scale = scale; } ///< Called by HeatmapColors.
    void setMatrix(std::shared_ptr<const Eigen::MatrixXf> matrix);    ///< Null: nothing.
    void setTiles(std::shared_ptr<const TiledCircuit> circuit);       ///< Null: nothing.
    void setRowAxis(const HeatmapAxis& axis);
    void setColumnAxis(const HeatmapAxis& axis);
    /// Name and unit of the numbers, beside the colour bar of a figure.
    void setValueTitle(const QString& title) { m_valueTitle = title; }
    const QString& valueTitle() const { return m_valueTitle; }
    /// Cells that are not finite are nothing rather than a finding: no hatch, no count.
    void setNanIsAbsent(bool absent);
    void setAggregate(Aggregate aggregate); ///< Value shown by a pixel that covers several cells.
    /// Shows the norms of rows and columns as bars at the right and bottom edge.
    void setNormBars(bool shown);
    bool hasNormBars() const { return m_normBars; }

    TileLoader* tileLoader(); ///< Its scan reports progress and can be cancelled. Made on first request.
    TileLoader* loadedTiles() const { return m_loader; }               ///< Null if there were no tiles yet.
    const ValueStatistics& statistics() const { return m_statistics; } ///< Over all finite values.
    qint64 notFiniteCount() const { return m_notFinite; }
    int level() const { return m_level; } ///< Level of the tiles shown; −1: unknown yet.
    /// For tiles: takes the statistics of the level that fits `pixels`. \return whether they changed
    bool showLevel(const QSize& pixels);
    QImage image(const HeatmapScene& scene, const QSize& size, const ThemeColors& colors) const;
    /// Renders the same image and asks for the tiles that it lacks.
    QImage requestedImage(const HeatmapScene& scene, const QSize& size, const ThemeColors& colors);

signals:
    void numbersChanged(); ///< Another matrix or circuit.
    void axesChanged();    ///< Labels and bars may take more or less space.
    void looksChanged();   ///< The same numbers look different.
    void tilesArrived();
    void levelOutdated(); ///< The strongest values of the whole circuit are exact now.
    void aggregateChanged(headwise::Aggregate aggregate);
    void normBarsChanged(bool shown);

private:
    void updateNorms();

    HeatmapScene m_scene; // Its scale's map is the one that was set, without the theme's twin.
    QString m_valueTitle;
    std::unique_ptr<MatrixPyramid> m_pyramid;
    TileLoader* m_loader = nullptr;
    int m_level = -1;
    qint64 m_notFinite = 0;
    bool m_normBars = false;
    ValueStatistics m_statistics;
};

} // namespace headwise::ui
