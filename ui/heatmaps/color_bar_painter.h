#pragma once

#include "core/results/color_scale.h"
#include "ui/base/theme.h"

#include <QFont>
#include <QRectF>
#include <QString>

#include <vector>

class QPaintDevice;
class QPainter;

namespace headwise::ui {

inline constexpr double colorBarThickness = 12; ///< Width of the colours without their ticks.

/// Histogram of a sample along the bar: the fraction of its finite values in each of `parts` equal lengths, from the low
/// end. Out-of-range values are not counted. [parts]
std::vector<double> sharesOnBar(const std::vector<float>& sample, const ColorScale& scale, int parts);
/// Width of a vertical or height of a horizontal bar, with its ticks, whatever its length.
double colorBarExtent(const ColorScale& scale, Qt::Orientation orientation, const QFont& font,
                      const QPaintDevice* device);
/// Width of a vertical bar of that length, with the numbers that paintColorBar() writes beside it.
double colorBarWidth(const ColorScale& scale, double length, const QFont& font, const QPaintDevice* device);
/// How far the bar extends past its area at either end.
double colorBarOverhang(const ColorScale& scale);
/// Paints the bar, its ticks and the mark at zero within `area`, in the painter's font, with lines as wide as its pen. A
/// vertical bar has the high end at the top.
void paintColorBar(QPainter& painter, const QRectF& area, const ColorScale& scale,
                   Qt::Orientation orientation, const ThemeColors& colors);
/// Paints the histogram of sharesOnBar() over the bar within `area`.
void paintColorBarHistogram(QPainter& painter, const QRectF& area, const std::vector<double>& shares,
                            Qt::Orientation orientation, const QColor& line);
QString mapTitle(ColorMap map);

} // namespace headwise::ui
