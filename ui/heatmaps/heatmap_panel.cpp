#include "ui/heatmaps/heatmap_panel.h"

#include "ui/base/text.h"
#include "ui/heatmaps/color_bar.h"

#include <QBoxLayout>
#include <QEvent>
#include <QJsonArray>

#include <array>
#include <memory>
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

ScaleChoice choiceOf(const QJsonArray& names)
{
    ScaleChoice choice;
    for (const auto& [name, chosen] : choiceNames)
        choice.*chosen = names.contains(QString(name));
    return choice;
}

/// A number of the visible part and its name in a session.
struct SeenField {
    const char* name;
    double HeatmapState::*number;
};
constexpr std::array seenFields{
    SeenField{"zoomX", &HeatmapState::zoomX}, SeenField{"zoomY", &HeatmapState::zoomY},
    SeenField{"centerX", &HeatmapState::centerX}, SeenField{"centerY", &HeatmapState::centerY}};

} // namespace

ViewFields HeatmapPanel::viewFields()
{
    const auto hasScale = std::make_shared<bool>(false);
    ViewFields fields;
    fields
        .add(
            "scale", [this] { return ui::text(headwise::text(m_view->colors()->scale())); },
            [this, hasScale](const QJsonValue& words) {
                const auto scale = parseColorScale(words.toString().toStdString());
                *hasScale = scale.has_value();
                if (scale)
                    m_view->colors()->setScale(*scale);
            })
        .add(
            "chosen", [this] { return text(m_view->colors()->choice()); },
            [this, hasScale](const QJsonValue& chosen) {
                if (*hasScale)
                    m_view->colors()->setChoice(choiceOf(chosen.toArray()));
            });
    const auto seen = std::make_shared<HeatmapState>(m_view->zoom()->state());
    for (const SeenField& field : seenFields)
        fields.add(
            field.name, [seen, field] { return (*seen).*field.number; },
            [seen, field](const QJsonValue& value) {
                (*seen).*field.number = value.toDouble(HeatmapState().*field.number);
            });
    return fields
        .then([this, seen] {
            m_view->zoom()->setState(*seen);
            m_view->zoom()->forgetSize();
        })
        .add(
            "mean", [this] { return m_view->scene().aggregate == Aggregate::Mean; },
            [this](const QJsonValue& mean) {
                m_view->content()->setAggregate(mean.toBool() ? Aggregate::Mean : Aggregate::Strongest);
            })
        .add(
            "norms", [this] { return m_view->content()->hasNormBars(); },
            [this](const QJsonValue& norms) { m_view->content()->setNormBars(norms.toBool()); });
}

} // namespace headwise::ui
