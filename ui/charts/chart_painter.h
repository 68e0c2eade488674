#pragma once

#include "ui/base/theme.h"
#include "ui/charts/spectrum_chart.h"

#include <QFont>
#include <QLineF>
#include <QPen>
#include <QRectF>

class QPainter;

namespace headwise::ui {

/// A pair of axes on some device: its position and the range of the data it shows.
struct ChartFrame {
    QRectF plot;  ///< Device units.
    QRectF range; ///< Data units; y is logarithmic on a log axis; top() is the lowest y.
    ChartLook look;
    QFont font; ///< for labels
    const ThemeColors& colors;
    double hairline = 1;   ///< Width of grid and axes, device units.
    double legend = 0;     ///< Height of the names above the plot, device units; 0: they are inside it.
    double legendType = 0; ///< Size of these names in points; 0: that of the font.
    double ends = 0; ///< Width of the names at the ends of lines, device units; 0: they are in the legend.
    /// Width of the labels left of the plot beyond that in chartMargins(), device units; below 0: they need less.
    double labels = 0;
    /// Lines differ by their dashes too, and a name may stand farther from its point, with a leader.
    bool isPaper = false;
    std::vector<double> levels = {}; ///< y of baselines, which the legend and the names of points avoid.

    QPointF map(const QPointF& point) const;
    QPointF unmap(const QPointF& position) const;
};

/// Space for titles and labels around the plot.
QMarginsF chartMargins(const ChartLook& look, const QFont& font, const QPaintDevice* device);

/// Makes the plot narrower where the labels of its y axis are wider than usual, on paper also wider where they are narrower.
void makeRoomForLabels(ChartFrame& frame, const QPaintDevice* device);

/// Returns the range of `frame`, in the complex plane widened so that both axes have equal units.
QRectF equalUnits(const ChartFrame& frame);

/// Maps a point to the axes; NaN if they cannot show it.
QPointF shownPoint(const QPointF& point, const ChartLook& look);
/// Returns the place of a series among the colours and shapes.
int placeOf(const std::vector<ChartSeries>& series, std::size_t index);
QColor seriesColor(int place, const ThemeColors& colors);
/// Returns the colour of a series for its name: nearer to the text's until its contrast is 4.5:1.
QColor nameColor(int place, const ThemeColors& colors);
QColor shadeColor(float shade, const ThemeColors& colors); ///< Blue at 0, vermilion at 1.

void paintChartAxes(QPainter& painter, const ChartFrame& frame);
/// Paints the lines, each with its name on a clear ground where it covers least.
void paintChartBaselines(QPainter& painter, const ChartFrame& frame, const ChartContent& content);
/// Paints bars from y − error to y + error, or an area around the line. On a log axis, bars that reach zero go down to
/// its end.
void paintChartErrors(QPainter& painter, const ChartFrame& frame, const std::vector<ChartSeries>& series);
void paintChartBrackets(QPainter& painter, const ChartFrame& frame,
                        const std::vector<ChartBracket>& brackets);

/// How a series is drawn on its device.
struct SeriesLook {
    QColor color;
    int shape = 0;        ///< Shape of its markers; bars of a higher one are narrower.
    double lineWidth = 1; ///< Device units; markers scale with it.
    bool isHairline =
        false; ///< Draws lines one pixel wide, a hundred times faster in Qt: for long ones on screen.
    QList<qreal> dashes = {}; ///< Dashes of a line, in its widths; empty: those of its style.
    double barShare = 1;      ///< Part of the usual width of a bar, for bars side by side.
};
/// Returns the dashes that tell a line from the others without colour; empty: those of its style. A single line has its
/// style's.
QList<qreal> dashesOf(const ChartFrame& frame, const std::vector<ChartSeries>& series, std::size_t index);
/// Returns the pen of a line.
QPen linePen(const ChartSeries& series, const SeriesLook& look);
/// Width of a bar in displayed units of x: most of the distance between neighbours; infinite for a single bar.
double barWidth(const ChartSeries& series, const ChartLook& look);
inline constexpr double boxWidth = 0.2; ///< Width of a box, in units of x.
void paintChartSeries(QPainter& painter, const ChartFrame& frame, const ChartSeries& series,
                      const SeriesLook& look);
/// Width of the names right of the plot, at the ends of two to six lines; 0 if they have no room there.
/// \param frame with the whole range
double endNamesWidth(const ChartFrame& frame, const std::vector<ChartSeries>& series,
                     const QPaintDevice* device);
/// Paints each name in its line's colour beside the line's end, moved as far as needed not to cover another.
void paintEndNames(QPainter& painter, const ChartFrame& frame, const std::vector<ChartSeries>& series);
/// Makes room for the names of lines: at their ends if they fit there, else above the plot if no corner is free.
/// \param frame gets `ends` or `legend`, and a smaller plot
void makeRoomForNames(ChartFrame& frame, const ChartContent& content, const QPaintDevice* device);
/// Makes room for the names above the plot, in rows from edge to edge, unless a corner of the plot has space for them. On
/// paper the type becomes smaller, but not below smallestType(), before a name is left out.
/// \param frame gets `legend` and `legendType`, but keeps its plot
void makeRoomAbove(ChartFrame& frame, const std::vector<ChartSeries>& series, const QPaintDevice* device);
/// Paints the names in the colours of their lines: at their ends, above the plot or in the corner where they hide least.
void paintChartLegend(QPainter& painter, const ChartFrame& frame, const std::vector<ChartSeries>& series);
/// The place of the names inside the plot; empty if there are none or they stand above it.
QRectF legendInside(const ChartFrame& frame, const std::vector<ChartSeries>& series,
                    const QPaintDevice* device);
/// Returns points along the drawn series, close enough together to tell what a text would cover.
std::vector<QPointF> drawnPlaces(const ChartFrame& frame, const std::vector<ChartSeries>& series);
/// Returns places along a horizontal line of the plot, which would strike words through; none if it is not in the plot.
std::vector<QPointF> placesAlong(const ChartFrame& frame, double level);
/// Returns the places of the names of the baselines, in their order; empty: no room.
std::vector<QRectF> baselineNames(const ChartFrame& frame, const ChartContent& content,
                                  const QPaintDevice* device);
/// Moves the names of the baselines to the legend, each with its number, if one would cover marks or another line.
/// \returns whether it did
bool moveBaselineNames(const ChartFrame& frame, ChartContent& content, const QPaintDevice* device);
/// Returns the places of the names of the baselines and of the points, which a note leaves free.
std::vector<QRectF> namePlaces(const ChartFrame& frame, const ChartContent& content,
                               const QPaintDevice* device);
/// Paints the note where it covers least, a corner if possible, and is not over the legend or the words in `taken`.
void paintChartNote(QPainter& painter, const ChartFrame& frame, const std::vector<ChartSeries>& series,
                    const QString& note, const std::vector<QRectF>& taken = {});
/// Returns every how many names of the x axis have room: 1 if all have.
int nameStep(const ChartFrame& frame, const QPaintDevice* device);
/// Tells whether both titles of the axes are drawn without being cut.
bool areTitlesWhole(const ChartFrame& frame, const QPaintDevice* device);
/// Returns how many names the legend leaves out or shortens.
int namesWithoutRoom(const ChartFrame& frame, const std::vector<ChartSeries>& series,
                     const QPaintDevice* device);
/// The name of a point and its place, device units.
struct PlacedName {
    QRectF box;
    QString name;
    QLineF leader = {}; ///< From the point to a name that is farther away; null: it is beside the point.
};
/// Places the names of points beside them, as many as have room beside the words in `taken`.
std::vector<PlacedName> placedPointNames(const ChartFrame& frame, const std::vector<ChartSeries>& series,
                                         const std::vector<QRectF>& taken, const QPaintDevice* device);
/// Paints the names that placedPointNames() places.
void paintPointNames(QPainter& painter, const ChartFrame& frame, const std::vector<ChartSeries>& series,
                     const std::vector<QRectF>& taken = {});
/// Paints a marker. Eight classes differ in shape too: disc, square, diamond, triangle, triangle downwards, plus, hourglass,
/// flat rectangle, in this order.
void paintMarker(QPainter& painter, const QPointF& at, int shape, double size);

} // namespace headwise::ui
