// The context menu of a colour bar.

#include "ui/base/text.h"
#include "ui/heatmaps/color_bar.h"
#include "ui/heatmaps/heatmap_view.h"
#include "ui/heatmaps/limits_dialog.h"
#include "ui/heatmaps/shared_scale.h"

#include <QActionGroup>
#include <QContextMenuEvent>
#include <QInputDialog>
#include <QMenu>

#include <functional>

namespace headwise::ui {

namespace {

/// Adds one of several exclusive choices to a menu.
void addChoice(QMenu* menu, QActionGroup* group, const QString& title, bool isChosen,
               const std::function<void()>& choose)
{
    QAction* action = menu->addAction(title, menu, choose);
    action->setCheckable(true);
    action->setChecked(isChosen);
    if (group)
        group->addAction(action);
}

} // namespace

void ColorBar::addMaps(QMenu* menu)
{
    auto* maps = new QActionGroup(menu);
    for (const ColorMap map : allColorMaps) {
        if (map == ColorMap::SignedDark || map == ColorMap::AttentionDark)
            continue; // A dark window uses them automatically.
        addChoice(menu, maps, mapTitle(map), map == m_scale.map, [this, map] { setMap(map); });
    }
}

void ColorBar::addFits(QMenu* menu)
{
    const bool symmetric = isSigned(m_scale.map);
    auto* fits = new QActionGroup(menu);
    const auto add = [&](const QString& title, ColorFit fit) {
        addChoice(menu, fits, title, fit == m_scale.fit, [this, fit] { setFit(fit); });
    };
    add(symmetric ? tr("Symmetric about zero") : tr("From zero"), ColorFit::Full);
    add(symmetric ? tr("Symmetric, trimmed at 3 σ") : tr("From zero, trimmed at 3 σ"), ColorFit::Robust);
    add(tr("Data range"), ColorFit::DataRange);
    addPercentiles(menu->addMenu(tr("Percentiles")));
    menu->addAction(tr("Set limits…"), this, &ColorBar::askLimits);
    add(tr("Lock the limits"), ColorFit::Fixed);
}

void ColorBar::askLimits()
{
    auto* dialog = new LimitsDialog(m_scale.low, m_scale.high, this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &LimitsDialog::limitsChosen, this, &ColorBar::setLimits);
    dialog->open();
}

void ColorBar::addPercentiles(QMenu* menu)
{
    auto* group = new QActionGroup(menu);
    const bool isChosen = m_scale.fit == ColorFit::Percentiles;
    for (const double percentile : {90.0, 95.0, 99.0, 99.9})
        addChoice(menu, group, tr("%1 %").arg(percentile),
                  isChosen && m_scale.percentile == static_cast<float>(percentile),
                  [this, percentile] { setPercentile(percentile); });
    menu->addAction(tr("Other…"), this, &ColorBar::askPercentile);
}

void ColorBar::askPercentile()
{
    auto* dialog = new QInputDialog(this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setWindowTitle(tr("Limits from percentiles"));
    dialog->setLabelText(isSigned(m_scale.map)
                             ? tr("Percent of all magnitudes that lie within the limits:")
                             : tr("Upper percentile; as much is left out at the lower end:"));
    dialog->setInputMode(QInputDialog::DoubleInput);
    dialog->setDoubleDecimals(2);
    dialog->setDoubleRange(50.01, 100);
    dialog->setDoubleValue(double{m_scale.percentile});
    connect(dialog, &QInputDialog::doubleValueSelected, this, &ColorBar::setPercentile);
    dialog->open();
}

void ColorBar::addTransforms(QMenu* menu)
{
    auto* group = new QActionGroup(menu);
    const auto add = [&](const QString& title, ColorTransform transform) {
        addChoice(menu, group, title, transform == m_scale.transform,
                  [this, transform] { setTransform(transform); });
    };
    add(tr("Linear"), ColorTransform::Linear);
    add(tr("Square root"), ColorTransform::Sqrt);
    add(tr("Logarithmic away from zero"), ColorTransform::Symlog);
    add(tr("By rank"), ColorTransform::Rank);
}

void ColorBar::addPixels(QMenu* menu)
{
    auto* group = new QActionGroup(menu);
    const auto add = [&](const QString& title, Aggregate aggregate) {
        addChoice(menu, group, title, aggregate == m_view->aggregate(),
                  [this, aggregate] { m_view->setAggregate(aggregate); });
    };
    add(tr("Pixels show the strongest of their cells"), Aggregate::Strongest);
    add(tr("Pixels show the mean of their cells"), Aggregate::Mean);
    menu->addSeparator();
    addChoice(menu, nullptr, tr("Norms of rows and columns"), m_view->hasNormBars(),
              [this] { m_view->setNormBars(!m_view->hasNormBars()); });
    SharedScale* shared = scaleOfWindow(m_view);
    const bool isShared = shared->contains(m_view);
    addChoice(menu, nullptr, tr("Share the scale with other matrices"), m_view->sharedScale() != nullptr,
              [this, shared, isShared] { isShared ? shared->remove(m_view) : shared->add(m_view); });
    // Two linked heatmaps always share their scale.
    menu->actions().constLast()->setEnabled(isShared || !m_view->sharedScale());
}

void ColorBar::contextMenuEvent(QContextMenuEvent* event)
{
    auto* menu = new QMenu(this);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    addMaps(menu);
    menu->addSeparator();
    addFits(menu);
    menu->addSeparator();
    addTransforms(menu);
    menu->addSeparator();
    addChoice(menu, nullptr, tr("Invert"), m_scale.inverted, [this] { invert(); });
    menu->addAction(tr("Centre on zero"), this, &ColorBar::centerOnZero);
    if (m_view) {
        menu->addSeparator();
        addPixels(menu);
    }
    menu->popup(event->globalPos());
}

} // namespace headwise::ui
