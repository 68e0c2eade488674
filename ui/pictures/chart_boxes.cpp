#include "ui/base/text.h"
#include "ui/document/head_metrics.h"
#include "ui/pictures/chart_contents.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace headwise::ui {

namespace {

constexpr double apart = 0.25; // layers, from one array's box to the next one's

/// Linear between the two values beside it. \param sorted rising, not empty
double quantile(const std::vector<double>& sorted, double share)
{
    const double at = share * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(at);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

/// \param offset from the layer's place on the x axis
ChartSeries boxesOf(const ResultArray& array, double offset)
{
    ChartSeries boxes{metricTitle(array), {}, SeriesStyle::Boxes};
    const ArrayPart all = wholeArray(array);
    for (std::size_t layer = 0; layer < array.shape[0]; ++layer) {
        const ArrayPart row = entryOf(all, layer);
        std::vector<double> values;
        for (std::size_t head = 0; head < row.size(); ++head)
            if (std::isfinite(row.at(head)))
                values.push_back(row.at(head));
        std::ranges::sort(values);
        for (const double share : {0.0, 0.25, 0.5, 0.75, 1.0})
            if (!values.empty())
                boxes.points << QPointF(static_cast<double>(layer) + offset, quantile(values, share));
    }
    return boxes;
}

QString quantileName(int index)
{
    const std::array<QString, 5> names{PictureBody::tr("smallest"), PictureBody::tr("lower quartile"),
                                       PictureBody::tr("median"), PictureBody::tr("upper quartile"),
                                       PictureBody::tr("largest")};
    return PictureBody::tr("layer's %1").arg(names[static_cast<std::size_t>(index) % names.size()]);
}

} // namespace

ChartContents boxContents(const PictureData& shown, const PictureContext& context)
{
    ChartContents contents;
    contents.message = PictureBody::tr("These results lack this array.");
    std::vector<const ResultArray*> arrays = shown.arrays;
    std::erase_if(arrays, [&](const ResultArray* array) {
        return array->shape.size() != 2 || headAxes(*array, context.card) != HeadAxes::OneHead;
    });
    if (arrays.empty())
        return contents;
    const auto last = static_cast<double>(arrays.size() - 1);
    for (std::size_t i = 0; i < arrays.size(); ++i) {
        const ResultArray& array = *arrays[i];
        contents.series.push_back(boxesOf(array, apart * (static_cast<double>(i) - last / 2)));
        if (array.nullMean && std::isfinite(*array.nullMean))
            contents.baselines.push_back({arrays.size() > 1
                                              ? PictureBody::tr("null of %1").arg(metricTitle(array))
                                              : PictureBody::tr("null"),
                                          *array.nullMean});
    }
    contents.look.yScale = shown.picture.logX ? ChartLook::Scale::Log : ChartLook::Scale::Linear;
    contents.look.xTitle = PictureBody::tr("layer");
    contents.look.wholeX = true;
    contents.look.yTitle = commonTitle(arrays);
    contents.names = quantileName;
    contents.caption = PictureBody::tr(
        "Lines span a layer's heads from smallest to largest. Boxes hold the middle half, with a bar at the median.");
    return contents;
}

} // namespace headwise::ui
