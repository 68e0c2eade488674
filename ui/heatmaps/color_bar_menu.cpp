#include "ui/heatmaps/color_bar_menu.h"

#include "ui/base/text.h"
#include "ui/heatmaps/color_bar.h"
#include "ui/heatmaps/heatmap_view.h"
#include "ui/heatmaps/shared_scale.h"

#include <QActionGroup>
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

void addMaps(QMenu* menu, ColorBar* bar)
{
    auto* maps = new QActionGroup(menu);
    for (const ColorMap map : allColorMaps) {
        if (map == ColorMap::SignedDark || map == ColorMap::AttentionDark)
            continue; // A dark window uses them automatically.
        addChoice(menu, maps, mapTitle(map), map == bar->scale().map, [bar, map] { bar->setMap(map); });
    }
}

void askPercentile(ColorBar* bar)
{
    auto* dialog = new QInputDialog(bar);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setWindowTitle(ColorBar::tr("Limits from percentiles"));
    dialog->setLabelText(isSigned(bar->scale().map)
                             ? ColorBar::tr("Percentage of magnitudes within the limits:")
                             : ColorBar::tr("Upper percentile; the lower end is cut equally:"));
    dialog->setInputMode(QInputDialog::DoubleInput);
    dialog->setDoubleDecimals(2);
    dialog->setDoubleRange(50.01, 100);
    dialog->setDoubleValue(double{bar->scale().percentile});
    QObject::connect(dialog, &QInputDialog::doubleValueSelected, bar, &ColorBar::setPercentile);
    dialog->open();
}

void addPercentiles(QMenu* menu, ColorBar* bar)
{
    auto* group = new QActionGroup(menu);
    const bool isChosen = bar->scale().fit == ColorFit::Percentiles;
    for (const double percentile : {90.0, 95.0, 99.0, 99.9})
        addChoice(menu, group, ColorBar::tr("%1 %").arg(percentile),
                  isChosen && bar->scale().percentile == static_cast<float>(percentile),
                  [bar, percentile] { bar->setPercentile(percentile); });
    menu->addAction(ColorBar::tr("Other…"), bar, [bar] { askPercentile(bar); });
}

void addFits(QMenu* menu, ColorBar* bar)
{
    const bool symmetric = isSigned(bar->scale().map);
    auto* fits = new QActionGroup(menu);
    const auto add = [&](const QString& title, ColorFit fit) {
        addChoice(menu, fits, title, fit == bar->scale().fit, [bar, fit] { bar->setFit(fit); });
    };
    add(symmetric ? ColorBar::tr("Symmetric about zero") : ColorBar::tr("From zero"), ColorFit::Full);
    add(symmetric ? ColorBar::tr("Symmetric, trimmed at 3 σ") : ColorBar::tr("From zero, trimmed at 3 σ"),
        ColorFit::Robust);
    add(ColorBar::tr("Data range"), ColorFit::DataRange);
    addPercentiles(menu->addMenu(ColorBar::tr("Percentiles")), bar);
    menu->addAction(ColorBar::tr("Set limits…"), bar, &ColorBar::askLimits);
    add(ColorBar::tr("Lock the limits"), ColorFit::Fixed);
}

void addTransforms(QMenu* menu, ColorBar* bar)
{
    auto* group = new QActionGroup(menu);
    const auto add = [&](const QString& title, ColorTransform transform) {
        addChoice(menu, group, title, transform == bar->scale().transform,
                  [bar, transform] { bar->setTransform(transform); });
    };
    add(ColorBar::tr("Linear"), ColorTransform::Linear);
    add(ColorBar::tr("Square root"), ColorTransform::Sqrt);
    add(ColorBar::tr("Symmetric logarithmic"), ColorTransform::Symlog);
    add(ColorBar::tr("By rank"), ColorTransform::Rank);
}

/// Adds aggregate, norms and shared scale.
void addPixels(QMenu* menu, HeatmapView* view)
{
    auto* group = new QActionGroup(menu);
    const auto add = [&](const QString& title, Aggregate aggregate) {
        addChoice(menu, group, title, aggregate == view->scene().aggregate,
                  [view, aggregate] { view->content()->setAggregate(aggregate); });
    };
    add(ColorBar::tr("Pixels show the strongest cell"), Aggregate::Strongest);
    add(ColorBar::tr("Pixels show the mean"), Aggregate::Mean);
    menu->addSeparator();
    addChoice(menu, nullptr, ColorBar::tr("Norms of rows and columns"), view->content()->hasNormBars(),
              [view] { view->content()->setNormBars(!view->content()->hasNormBars()); });
    SharedScale* shared = scaleOfWindow(view);
    const bool isShared = shared->contains(view);
    addChoice(menu, nullptr, ColorBar::tr("Share the scale with other matrices"),
              view->colors()->sharedScale() != nullptr,
              [view, shared, isShared] { isShared ? shared->remove(view) : shared->add(view); });
    // Two linked heatmaps always share their scale.
    menu->actions().constLast()->setEnabled(isShared || !view->colors()->sharedScale());
}

} // namespace

QMenu* makeColorBarMenu(ColorBar* bar)
{
    auto* menu = new QMenu(bar);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    addMaps(menu, bar);
    menu->addSeparator();
    addFits(menu, bar);
    menu->addSeparator();
    addTransforms(menu, bar);
    menu->addSeparator();
    addChoice(menu, nullptr, ColorBar::tr("Invert"), bar->scale().inverted, [bar] { bar->invert(); });
    menu->addAction(ColorBar::tr("Centre on zero"), bar, &ColorBar::centerOnZero);
    if (HeatmapView* view = bar->heatmap()) {
        menu->addSeparator();
        addPixels(menu, view);
    }
    return menu;
}

} // namespace headwise::ui
