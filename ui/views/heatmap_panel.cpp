#include "ui/views/heatmap_panel.h"

#include "ui/text.h"
#include "ui/views/color_bar.h"

#include <QBoxLayout>

namespace headwise::ui {

HeatmapPanel::HeatmapPanel(QWidget* parent, Qt::Orientation bar)
    : QWidget(parent)
    , m_view(new HeatmapView(this))
    , m_bar(new ColorBar(bar, this))
{
    auto* layout =
        new QBoxLayout(bar == Qt::Vertical ? QBoxLayout::LeftToRight : QBoxLayout::TopToBottom, this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(8);
    layout->addWidget(m_view, 1);
    layout->addWidget(m_bar);
    m_bar->follow(m_view);
}

QJsonObject HeatmapPanel::viewState() const
{
    const HeatmapState& state = m_view->state();
    return {{QStringLiteral("scale"), text(headwise::text(m_view->colorScale()))},
            {QStringLiteral("zoomX"), state.zoomX},
            {QStringLiteral("zoomY"), state.zoomY},
            {QStringLiteral("centerX"), state.centerX},
            {QStringLiteral("centerY"), state.centerY},
            {QStringLiteral("mean"), m_view->aggregate() == Aggregate::Mean},
            {QStringLiteral("norms"), m_view->hasNormBars()}};
}

void HeatmapPanel::setViewState(const QJsonObject& state)
{
    const auto scale = parseColorScale(state[QStringLiteral("scale")].toString().toStdString());
    if (scale)
        m_view->setColorScale(*scale);
    HeatmapState viewed = m_view->state();
    viewed.zoomX = state[QStringLiteral("zoomX")].toDouble(1);
    viewed.zoomY = state[QStringLiteral("zoomY")].toDouble(1);
    viewed.centerX = state[QStringLiteral("centerX")].toDouble(0.5);
    viewed.centerY = state[QStringLiteral("centerY")].toDouble(0.5);
    m_view->setState(viewed);
    m_view->setAggregate(state[QStringLiteral("mean")].toBool() ? Aggregate::Mean : Aggregate::Strongest);
    m_view->setNormBars(state[QStringLiteral("norms")].toBool());
}

} // namespace headwise::ui
