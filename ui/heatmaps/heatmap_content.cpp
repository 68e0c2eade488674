#include "ui/heatmaps/heatmap_content.h"

namespace headwise::ui {

namespace {

qint64 countNotFinite(const Eigen::MatrixXf& matrix)
{
    return matrix.size() - matrix.array().isFinite().count();
}

} // namespace

HeatmapContent::HeatmapContent(QObject* parent)
    : QObject(parent)
{
}

void HeatmapContent::setMatrix(std::shared_ptr<const Eigen::MatrixXf> matrix)
{
    m_scene.matrix = std::move(matrix);
    m_scene.tiles = nullptr;
    if (m_loader)
        m_loader->setCircuit(nullptr);
    m_pyramid = std::make_unique<MatrixPyramid>(m_scene.matrix, m_scene.aggregate);
    m_notFinite = m_scene.isEmpty() ? 0 : countNotFinite(*m_scene.matrix);
    m_statistics = m_scene.isEmpty() ? ValueStatistics() : statisticsOf(*m_scene.matrix);
    m_level = -1;
    updateNorms();
    emit numbersChanged();
}

void HeatmapContent::setTiles(std::shared_ptr<const TiledCircuit> circuit)
{
    m_scene.matrix = nullptr;
    m_scene.tiles = std::move(circuit);
    m_pyramid.reset();
    m_notFinite = 0;
    m_statistics = {};
    tileLoader()->setCircuit(m_scene.tiles);
    m_level = -1;
    updateNorms();
    emit numbersChanged();
}

void HeatmapContent::setRowAxis(const HeatmapAxis& axis)
{
    m_scene.rows = axis;
    emit axesChanged();
}

void HeatmapContent::setColumnAxis(const HeatmapAxis& axis)
{
    m_scene.columns = axis;
    emit axesChanged();
}

void HeatmapContent::setNanIsAbsent(bool absent)
{
    m_scene.nanIsAbsent = absent;
    emit looksChanged();
}

void HeatmapContent::setAggregate(Aggregate aggregate)
{
    if (aggregate == m_scene.aggregate)
        return;
    m_scene.aggregate = aggregate;
    if (m_scene.matrix)
        m_pyramid = std::make_unique<MatrixPyramid>(m_scene.matrix, aggregate);
    m_level = -1;
    emit looksChanged();
    emit aggregateChanged(aggregate);
}

void HeatmapContent::setNormBars(bool shown)
{
    if (shown == m_normBars)
        return;
    m_normBars = shown;
    updateNorms();
    emit axesChanged();
    emit normBarsChanged(shown);
}

void HeatmapContent::updateNorms()
{
    m_scene.norms = nullptr;
    if (!m_normBars || m_scene.isEmpty())
        return;
    m_scene.norms = std::make_shared<const HeatmapNorms>(
        m_scene.matrix ? normsOf(*m_scene.matrix)
                       : HeatmapNorms{m_scene.tiles->rowNorms(), m_scene.tiles->colNorms()});
}

TileLoader* HeatmapContent::tileLoader()
{
    if (m_loader)
        return m_loader;
    m_loader = new TileLoader(this);
    connect(m_loader, &TileLoader::arrived, this, &HeatmapContent::tilesArrived);
    connect(m_loader, &TileLoader::overviewChanged, this, [this] {
        m_level = -1;
        emit levelOutdated();
    });
    return m_loader;
}

bool HeatmapContent::showLevel(const QSize& pixels)
{
    if (!m_scene.tiles || m_scene.visible.isEmpty() || pixels.isEmpty())
        return false;
    const int level = tileLevel(m_scene, pixels);
    if (level == m_level)
        return false;
    m_level = level;
    m_statistics = m_loader->statistics(m_scene.aggregate, level);
    return true;
}

QImage HeatmapContent::image(const HeatmapScene& scene, const QSize& size, const ThemeColors& colors) const
{
    std::vector<TileKey> visible;
    return scene.tiles ? tiledImage(scene, *m_loader, size, visible)
                       : heatmapImage(scene, *m_pyramid, size, colors);
}

QImage HeatmapContent::requestedImage(const HeatmapScene& scene, const QSize& size, const ThemeColors& colors)
{
    if (!scene.tiles)
        return heatmapImage(scene, *m_pyramid, size, colors);
    std::vector<TileKey> visible;
    QImage image = tiledImage(scene, *m_loader, size, visible);
    m_loader->want(visible);
    if (visible.empty() && scene.aggregate == Aggregate::Strongest)
        m_loader->wantOverview();
    return image;
}

} // namespace headwise::ui
