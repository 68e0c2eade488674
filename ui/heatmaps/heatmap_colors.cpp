#include "ui/heatmaps/heatmap_colors.h"

#include "ui/base/color_choice.h"
#include "ui/base/theme.h"
#include "ui/heatmaps/shared_scale.h"

namespace headwise::ui {

HeatmapColors::HeatmapColors(HeatmapContent* content, QObject* parent)
    : QObject(parent)
    , m_content(content)
{
    connect(&ColorNews::instance(), &ColorNews::choiceChanged, this, &HeatmapColors::followColorChoice);
    m_content->setScale(firstScale(true));
}

void HeatmapColors::followColorChoice(const ColorChoice& before)
{
    ColorScale next = scale();
    if (isSigned(next.map) && next.inverted == before.redIsNegative)
        next.inverted = colorChoice().redIsNegative;
    else if (next.map == before.sequential)
        next.map = colorChoice().sequential;
    m_shared ? setScale(next) : proposeScale(next);
}

void HeatmapColors::setScale(const ColorScale& scale)
{
    const ColorScale& shown = this->scale();
    const bool otherLimits =
        scale.fit == ColorFit::Fixed && (scale.low != shown.low || scale.high != shown.high);
    setChoice({.map = m_choice.map || scale.map != shown.map,
               .inverted = m_choice.inverted || scale.inverted != shown.inverted,
               .transform = m_choice.transform || scale.transform != shown.transform,
               .fit = m_choice.fit || scale.fit != shown.fit || scale.percentile != shown.percentile
                   || otherLimits});
    fitScale(scale);
}

void HeatmapColors::fitScale(const ColorScale& scale)
{
    if (m_shared)
        return m_shared->setScale(scale);
    const ValueStatistics& statistics = m_content->statistics();
    const bool isKnown = statistics.count > 0 || m_content->scene().matrix;
    showScale(m_content->scene().isEmpty() || !isKnown ? scale : fitted(scale, statistics));
}

void HeatmapColors::proposeScale(const ColorScale& scale)
{
    m_proposed = scale;
    if (m_shared)
        return;
    ColorScale next = scale;
    const ColorScale& shown = this->scale();
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

void HeatmapColors::showScale(const ColorScale& scale)
{
    if (scale == this->scale())
        return;
    m_content->setScale(scale);
    emit scaleChanged(scale);
}

ColorScale HeatmapColors::scaleOn(const QPalette& palette) const
{
    ColorScale shown = scale();
    if (themeColors(palette).dark)
        shown.map = darkTwin(shown.map);
    return shown;
}

void HeatmapColors::setChoice(const ScaleChoice& choice)
{
    if (choice == m_choice)
        return;
    m_choice = choice;
    emit choiceChanged(choice);
}

bool HeatmapColors::isLocked() const
{
    return scale().fit == ColorFit::Fixed && (m_choice.fit || m_shared);
}

void HeatmapColors::toggleLock()
{
    ColorScale next = scale();
    ScaleChoice choice = m_choice;
    if (isLocked() && m_proposed && !m_shared && !m_unlockedFitChosen) {
        choice.fit = false;
        setChoice(choice);
        return proposeScale(*m_proposed);
    }
    if (isLocked()) {
        next.fit = m_unlockedFit;
    } else {
        m_unlockedFit = next.fit;
        m_unlockedFitChosen = choice.fit;
        next.fit = ColorFit::Fixed;
        choice.fit = true;
    }
    setChoice(choice);
    setScale(next);
}

void HeatmapColors::invert()
{
    ColorScale next = scale();
    next.inverted = !next.inverted;
    setScale(next);
}

void HeatmapColors::centerOnZero()
{
    ColorScale next = scale();
    if (!isSigned(next.map))
        next.map = ColorMap::Signed;
    if (next.fit != ColorFit::Robust && next.fit != ColorFit::Percentiles)
        next.fit = ColorFit::Full;
    setScale(next);
}

} // namespace headwise::ui
