#pragma once

#include "ui/charts/spectrum_chart.h"
#include "ui/pictures/chart_titles.h"
#include "ui/pictures/picture_body.h"

namespace headwise::ui {

/// Contents of a chart, taken from a picture's arrays.
struct ChartContents {
    ChartLook look;
    std::vector<ChartSeries> series;
    std::vector<ChartBaseline> baselines;
    std::vector<ChartBracket> brackets;
    QString symbol; ///< Symbol of x, "Δ"; of σ and λ, the symbol of the value. Empty: none.
    std::function<QString(int)> names; ///< Names of the points of every series; empty: they have none.
    std::function<int(int)> tokens;    ///< Token id of a point; empty: none.
    QString caption;                   ///< Anything else needed to read the chart.
    QString message;                   ///< Reason why the chart is empty.
};

/// Lines, Bars and Points, cut at the selection.
ChartContents seriesContents(const PictureData& shown, const PictureContext& context);
/// HeadPlane, HeadMap and Histogram: all heads, the selected one marked.
ChartContents headContents(const PictureData& shown, const PictureContext& context);
/// The heads of each layer as a box from the smallest over the quartiles to the largest, for each array.
ChartContents boxContents(const PictureData& shown, const PictureContext& context);

/// Colours the points of `cloud` by a number each and says so.
void shadePoints(ChartContents& contents, ChartSeries& cloud, const ArrayPart& by);

} // namespace headwise::ui
