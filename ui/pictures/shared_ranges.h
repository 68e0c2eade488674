#pragma once

#include <memory>
#include <vector>

class QWidget;

namespace headwise::ui {

class HeatmapView;
class LineChart;
class SharedScale;

/// Gives heatmaps one scale as long as the answer lives: the first one's, fitted to the numbers of all unless every one has the same
/// limits already.
std::unique_ptr<SharedScale> shareColors(const std::vector<HeatmapView*>& all);
/// Gives charts one range of heights.
void shareHeights(const std::vector<LineChart*>& all);
/// Tells whether heights mean the same in two charts.
bool haveComparableHeights(const LineChart& one, const LineChart& other);
/// Gives pictures of one kind, such as the frames of an animation, one scale or range. \return the scale; null: they have none
std::unique_ptr<SharedScale> shareRange(const std::vector<QWidget*>& pictures);

} // namespace headwise::ui
