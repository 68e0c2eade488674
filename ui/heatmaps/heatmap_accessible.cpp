#include "ui/heatmaps/heatmap_accessible.h"

#include "ui/base/text.h"
#include "ui/heatmaps/heatmap_view.h"
#include "ui/widgets/picture_accessible.h"

#include <algorithm>
#include <limits>

namespace headwise::ui {

namespace {

int asCount(Eigen::Index count)
{
    return static_cast<int>(std::min<Eigen::Index>(count, std::numeric_limits<int>::max()));
}

class HeatmapAccessible : public PictureAccessible {
public:
    explicit HeatmapAccessible(HeatmapView* view)
        : PictureAccessible(view)
    {
    }

    int rowCount() const override { return view() ? asCount(view()->scene().rowCount()) : 0; }
    int columnCount() const override { return view() ? asCount(view()->scene().columnCount()) : 0; }
    QString cellText(Place place) const override
    {
        return number(double{view()->scene().at(place.row, place.column)});
    }
    QString exactText(Place place) const override
    {
        return exactNumber(view()->scene().at(place.row, place.column));
    }
    QString rowTitle(int row) const override { return axisLabel(view()->scene().rows, row); }
    QString columnTitle(int column) const override { return axisLabel(view()->scene().columns, column); }
    QString whereText(const QString& row, const QString& column) const override
    {
        return HeatmapView::tr("row %1, column %2").arg(row, column);
    }
    QRectF cellArea(Place place) const override { return view()->cells().rect(place.row, place.column); }
    std::optional<Place> current() const override
    {
        const HeatmapState& state = view()->zoom()->state();
        return state.row >= 0 ? std::optional(Place{state.row, state.column}) : std::nullopt;
    }

private:
    HeatmapView* view() const { return qobject_cast<HeatmapView*>(object()); }
};

} // namespace

void installHeatmapAccessibility()
{
    static const bool isInstalled = [] {
        QAccessible::installFactory([](const QString&, QObject* object) -> QAccessibleInterface* {
            auto* view = qobject_cast<HeatmapView*>(object);
            return view ? new HeatmapAccessible(view) : nullptr;
        });
        return true;
    }();
    Q_UNUSED(isInstalled)
}

void announceHeatmapCell(HeatmapView* view)
{
    const HeatmapState& state = view->zoom()->state();
    if (state.row < 0)
        return;
    const HeatmapScene& scene = view->scene();
    view->setAccessibleDescription(HeatmapView::tr("row %1, column %2: %3")
                                       .arg(axisLabel(scene.rows, state.row),
                                            axisLabel(scene.columns, state.column),
                                            number(double{scene.at(state.row, state.column)})));
    QAccessibleEvent event(view, QAccessible::DescriptionChanged);
    QAccessible::updateAccessibility(&event);
    const qint64 cell = qint64{state.row} * scene.columnCount() + state.column;
    if (!view->hasFocus() || cell > std::numeric_limits<int>::max())
        return;
    QAccessibleEvent focus(view, QAccessible::Focus);
    focus.setChild(static_cast<int>(cell));
    QAccessible::updateAccessibility(&focus);
}

} // namespace headwise::ui
