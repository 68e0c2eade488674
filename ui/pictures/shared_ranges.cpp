#include "ui/pictures/shared_ranges.h"

#include "ui/charts/spectrum_chart.h"
#include "ui/heatmaps/heatmap_view.h"
#include "ui/heatmaps/shared_scale.h"

#include <algorithm>

namespace headwise::ui {

std::unique_ptr<SharedScale> shareColors(const std::vector<HeatmapView*>& all)
{
    ColorScale scale = all.front()->colors()->scale();
    for (const HeatmapView* cells : all) {
        if (isSigned(cells->colors()->scale().map))
            scale.map = cells->colors()->scale().map;
        const bool isSame =
            cells->colors()->scale().low == scale.low && cells->colors()->scale().high == scale.high;
        if (!isSame)
            scale.fit = ColorFit::Full;
    }
    auto shared = std::make_unique<SharedScale>();
    for (HeatmapView* cells : all)
        shared->add(cells);
    shared->setScale(scale);
    return shared;
}

void shareHeights(const std::vector<LineChart*>& all)
{
    double low = all.front()->range().top(), high = all.front()->range().bottom();
    for (const LineChart* chart : all) {
        low = std::min(low, chart->range().top());
        high = std::max(high, chart->range().bottom());
    }
    for (LineChart* chart : all) {
        QRectF range = chart->range();
        range.setTop(low);
        range.setBottom(high);
        chart->setRange(range);
    }
}

bool haveComparableHeights(const LineChart& one, const LineChart& other)
{
    constexpr auto free = ChartLook::Plane::Free;
    return one.look().plane == free && other.look().plane == free && one.look().yScale == other.look().yScale;
}

std::unique_ptr<SharedScale> shareRange(const std::vector<QWidget*>& pictures)
{
    std::vector<HeatmapView*> cells;
    std::vector<LineChart*> charts;
    for (QWidget* picture : pictures) {
        if (auto* heatmap = qobject_cast<HeatmapView*>(picture))
            cells.push_back(heatmap);
        else if (auto* chart = qobject_cast<LineChart*>(picture);
                 chart && haveComparableHeights(*chart, charts.empty() ? *chart : *charts.front()))
            charts.push_back(chart);
    }
    if (!charts.empty())
        shareHeights(charts);
    return cells.empty() ? nullptr : shareColors(cells);
}

} // namespace headwise::ui
