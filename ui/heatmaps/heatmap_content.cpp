// The data of a heatmap besides its matrix: tiles, aggregates, norms, and the scale that fits them.

#include "ui/heatmaps/heatmap_view.h"
#include "ui/heatmaps/shared_scale.h"

namespace headwise::ui {

TileLoader* HeatmapView::tileLoader()
{
    if (m_loader)
        return m_loader;
    m_loader = new TileLoader(this);
    connect(m_loader, &TileLoader::arrived, this, [this] {
        m_image = {};
        update();
    });
    connect(m_loader, &TileLoader::overviewChanged, this, [this] {
        m_level = -1;
        fitToLevel();
    });
    return m_loader;
}

void HeatmapView::setTiles(std::shared_ptr<const TiledCircuit> circuit)
{
    m_scene.matrix = nullptr;
    m_scene.tiles = std::move(circuit);
    m_pyramid.reset();
    m_notFinite = 0;
    m_statistics = {};
    tileLoader()->setCircuit(m_scene.tiles);
    contentChanged();
}

void HeatmapView::fitToLevel()
{
    if (!m_scene.tiles || m_scene.visible.isEmpty())
        return;
    const QSize pixels = (cellsArea().size() * devicePixelRatioF()).toSize();
    if (pixels.isEmpty())
        return;
    const int level = tileLevel(m_scene, pixels);
    if (level == m_level)
        return;
    m_level = level;
    m_statistics = m_loader->statistics(m_scene.aggregate, level);
    setColorScale(m_scene.scale);
}

void HeatmapView::setAggregate(Aggregate aggregate)
{
    if (aggregate == m_scene.aggregate)
        return;
    m_scene.aggregate = aggregate;
    if (m_scene.matrix)
        m_pyramid = std::make_unique<MatrixPyramid>(m_scene.matrix, aggregate);
    m_level = -1;
    updateVisible();
    emit aggregateChanged(aggregate);
}

void HeatmapView::setNormBars(bool shown)
{
    if (shown == m_normBars)
        return;
    m_normBars = shown;
    updateNorms();
    forgetRoom();
    updateVisible();
    emit normBarsChanged(shown);
}

void HeatmapView::updateNorms()
{
    m_scene.norms = nullptr;
    if (!m_normBars || isEmpty())
        return;
    m_scene.norms = std::make_shared<const HeatmapNorms>(
        m_scene.matrix ? normsOf(*m_scene.matrix)
                       : HeatmapNorms{m_scene.tiles->rowNorms(), m_scene.tiles->colNorms()});
}

void HeatmapView::setColorScale(const ColorScale& scale)
{
    const ColorScale& shown = m_scene.scale;
    const bool otherLimits =
        scale.fit == ColorFit::Fixed && (scale.low != shown.low || scale.high != shown.high);
    setScaleChoice({.map = m_choice.map || scale.map != shown.map,
                    .inverted = m_choice.inverted || scale.inverted != shown.inverted,
                    .transform = m_choice.transform || scale.transform != shown.transform,
                    .fit = m_choice.fit || scale.fit != shown.fit || scale.percentile != shown.percentile
                        || otherLimits});
    fitScale(scale);
}

void HeatmapView::fitScale(const ColorScale& scale)
{
    if (m_shared)
        return m_shared->setScale(scale);
    const bool isKnown = m_statistics.count > 0 || m_scene.matrix;
    showScale(isEmpty() || !isKnown ? scale : fitted(scale, m_statistics));
}

void HeatmapView::proposeScale(const ColorScale& scale)
{
    m_proposed = scale;
    if (m_shared)
        return;
    ColorScale next = scale;
    const ColorScale& shown = m_scene.scale;
    if (m_choice.map)
        next.map = shown.map;
    if (m_choice.inverted)
        next.inverted = shown.inverted;
    if (m_choice.transform)
        next.transform = shown.transform;
    if (m_choice.fit) {
        next.fit = shown.fit;
        next.percentile = shown.percentile;
        next.low = shown.low;
        next.high = shown.high;
    }
    fitScale(next);
}

void HeatmapView::setScaleChoice(const ScaleChoice& choice)
{
    if (choice == m_choice)
        return;
    m_choice = choice;
    update();
    emit scaleChoiceChanged(choice);
}

bool HeatmapView::isLocked() const
{
    return m_scene.scale.fit == ColorFit::Fixed && (m_choice.fit || m_shared);
}

void HeatmapView::showScale(const ColorScale& scale)
{
    if (scale == m_scene.scale)
        return;
    m_scene.scale = scale;
    m_image = {};
    update();
    emit colorScaleChanged(scale);
}

void HeatmapView::toggleLock()
{
    ColorScale scale = m_scene.scale;
    ScaleChoice choice = m_choice;
    if (isLocked() && m_proposed && !m_shared && !m_unlockedFitChosen) {
        choice.fit = false;
        setScaleChoice(choice);
        return proposeScale(*m_proposed);
    }
    if (isLocked()) {
        scale.fit = m_unlockedFit;
    } else {
        m_unlockedFit = scale.fit;
        m_unlockedFitChosen = choice.fit;
        scale.fit = ColorFit::Fixed;
        choice.fit = true;
    }
    setScaleChoice(choice);
    setColorScale(scale);
}

void HeatmapView::invertColors()
{
    ColorScale scale = m_scene.scale;
    scale.inverted = !scale.inverted;
    setColorScale(scale);
}

void HeatmapView::centerOnZero()
{
    ColorScale scale = m_scene.scale;
    if (!isSigned(scale.map))
        scale.map = ColorMap::Signed;
    if (scale.fit != ColorFit::Robust && scale.fit != ColorFit::Percentiles)
        scale.fit = ColorFit::Full;
    setColorScale(scale);
}

} // namespace headwise::ui
