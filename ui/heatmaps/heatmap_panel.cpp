#include "ui/heatmaps/heatmap_panel.h"

#include "ui/base/text.h"
#include "ui/heatmaps/color_bar.h"

#include <QBoxLayout>
#include <QEvent>
#include <QJsonArray>

#include <array>
#include <utility>

namespace headwise::ui {

HeatmapPanel::HeatmapPanel(QWidget* parent, Qt::Orientation bar)
    : QWidget(parent)
    , m_view(new HeatmapView(this))
    , m_bar(new ColorBar(bar, this))
    , m_isBarBelow(bar == Qt::Horizontal)
{
    auto* layout =
        new QBoxLayout(bar == Qt::Vertical ? QBoxLayout::LeftToRight : QBoxLayout::TopToBottom, this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(8);
    layout->addWidget(m_view, 1000);
    layout->addWidget(m_bar);
    layout->addStretch(1); // the space that square cells leave is behind the bar, not between it and them
    m_bar->follow(m_view);
    m_bar->setAlongCells(true);
    m_view->installEventFilter(this);
}

bool HeatmapPanel::event(QEvent* event)
{
    if (event->type() == QEvent::LayoutRequest) { // the view may need more or less space than before
        limitView();
        layout()->activate();
    }
    return QWidget::event(event);
}

bool HeatmapPanel::eventFilter(QObject* watched, QEvent* event)
{
    if (event->type() == QEvent::Paint) {
        const bool isElsewhere = std::exchange(m_cells, m_view->cells().area()) != m_view->cells().area();
        const bool isOther = std::exchange(m_isViewEmpty, m_view->isEmpty()) != m_view->isEmpty();
        if (isElsewhere || isOther)
            m_bar->update();
    }
    if (event->type() == QEvent::Show || event->type() == QEvent::Resize)
        limitView();
    return QWidget::eventFilter(watched, event);
}

void HeatmapPanel::limitView()
{
    if (!m_view->isVisible()) // would measure hundreds of labels for nothing
        return;
    if (m_isBarBelow)
        m_view->setMaximumHeight(m_view->cells().usableSize().height());
    else
        m_view->setMaximumWidth(m_view->cells().usableSize().width());
}

namespace {

struct ChoiceName {
    QLatin1StringView name;
    bool ScaleChoice::*chosen;
};
constexpr std::array choiceNames{ChoiceName{QLatin1StringView("map"), &ScaleChoice::map},
                                 ChoiceName{QLatin1StringView("inverted"), &ScaleChoice::inverted},
                                 ChoiceName{QLatin1StringView("transform"), &ScaleChoice::transform},
                                 ChoiceName{QLatin1StringView("fit"), &ScaleChoice::fit}};

QJsonArray text(const ScaleChoice& choice)
{
    QJsonArray names;
    for (const auto& [name, chosen] : choiceNames)
        if (choice.*chosen)
            names << QString(name);
    return names;
}

} // namespace

QJsonObject HeatmapPanel::viewState() const
{
    const HeatmapState& state = m_view->state();
    return {{QStringLiteral("scale"), ui::text(headwise::text(m_view->colorScale()))},
            {QStringLiteral("chosen"), text(m_view->colors()->choice())},
            {QStringLiteral("zoomX"), state.zoomX},
            {QStringLiteral("zoomY"), state.zoomY},
            {QStringLiteral("centerX"), state.centerX},
            {QStringLiteral("centerY"), state.centerY},
            {QStringLiteral("mean"), m_view->scene().aggregate == Aggregate::Mean},
            {QStringLiteral("norms"), m_view->content()->hasNormBars()}};
}

void HeatmapPanel::setViewState(const QJsonObject& state)
{
    const auto scale = parseColorScale(state[QStringLiteral("scale")].toString().toStdString());
    if (scale) {
        ScaleChoice choice;
        const QJsonArray names = state[QStringLiteral("chosen")].toArray();
        for (const auto& [name, chosen] : choiceNames)
            choice.*chosen = names.contains(QString(name));
        m_view->colors()->setScale(*scale);
        m_view->colors()->setChoice(choice);
    }
    HeatmapState viewed = m_view->state();
    viewed.zoomX = state[QStringLiteral("zoomX")].toDouble(1);
    viewed.zoomY = state[QStringLiteral("zoomY")].toDouble(1);
    viewed.centerX = state[QStringLiteral("centerX")].toDouble(0.5);
    viewed.centerY = state[QStringLiteral("centerY")].toDouble(0.5);
    m_view->zoom()->setState(viewed);
    m_view->zoom()->forgetSize();
    m_view->content()->setAggregate(state[QStringLiteral("mean")].toBool() ? Aggregate::Mean
                                                                           : Aggregate::Strongest);
    m_view->content()->setNormBars(state[QStringLiteral("norms")].toBool());
}

} // namespace headwise::ui
