#pragma once

#include "ui/figures/figure_export.h"

#include <QPointF>
#include <QString>
#include <QStringList>
#include <QVector>
#include <QWidget>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace headwise::ui {

class ChartCanvas;
class ChartPointer;
struct ChartFrame;

/// Style of a series. Boxes have five points each: minimum, quartiles, maximum.
enum class SeriesStyle { Line, Dashed, Points, Bars, Boxes };

/// One curve or cloud of points.
struct ChartSeries {
    QString name;
    QVector<QPointF> points;
    SeriesStyle style = SeriesStyle::Line;
    std::vector<float> shades =
        {}; ///< For Points: each point's position between two colours, 0 … 1. Empty: one colour.
    std::vector<float> errors = {}; ///< Half height of an error bar per point. Empty: none.
    bool hasBand = false;           ///< Shows the errors as a band around the line.
    /// For Points: the names of some, by index, the most important first. They are written where they have room.
    std::vector<std::pair<int, QString>> pointNames = {};
    QStringList labels = {};  ///< Names of all points, for tables; empty: they have none.
    bool isSelection = false; ///< Marks what is selected: on the screen, and on paper if that is asked for.
    int place = -1;           ///< Place among the colours and shapes; −1: that in the list.
    static constexpr int ofBaseline = -2; ///< Place of an entry of the legend that explains a baseline.

    bool operator==(const ChartSeries&) const = default;
};

/// Everything but the data: titles, scales, reference lines. Saved as a whole.
struct ChartLook {
    enum class Scale { Linear, Log };
    enum class Plane {
        Free,     ///< Each axis has its own unit.
        Complex,  ///< Equal units, axes through zero and the unit circle: eigenvalues.
        LogPolar, ///< The same numbers by angle and logarithm of the modulus.
    };

    QString xTitle; ///< With its unit.
    QString yTitle;
    Scale yScale = Scale::Linear;
    Plane plane = Plane::Free;
    Scale xScale = Scale::Linear;
    QStringList xLabels = {}; ///< Names of x = 0, 1, 2, …; empty: numbers.
    bool wholeX = false;      ///< x counts layers, ranks, …: no tick lies between whole numbers.
    bool wholeY = false;      ///< y counts likewise.
    double innerRadius = 0;   ///< For LogPolar: the modulus at the centre; smaller values are hidden.

    bool operator==(const ChartLook&) const = default;
};

/// A thin dashed line at a height, with its name: a null or a baseline.
struct ChartBaseline {
    QString name;
    double y = 0;

    bool operator==(const ChartBaseline&) const = default;
};

/// A bracket over a range of x, for points that are meaningful only together.
struct ChartBracket {
    double from = 0, to = 0; ///< range of x
    double y = 0;            ///< The highest point below the bracket.

    bool operator==(const ChartBracket&) const = default;
};

/// Everything that a chart shows.
struct ChartContent {
    ChartLook look;
    std::vector<ChartSeries> series = {};
    std::vector<ChartBaseline> baselines = {};
    std::vector<ChartBracket> brackets = {};
};

/// Lines and points on one pair of axes: spectra, kernels, eigenvalues, scatter plots. The only user of Qt Charts.
///
/// Wheel zooms x (in the complex plane both axes), Shift+wheel y, drag pans, double-click shows everything. With keyboard
/// focus, ← → Home End move along a series, ↑ ↓ to another, Enter selects the point, + − 0 zoom. Points that a log axis
/// cannot show, or that are not finite, are left out and counted in the view.
class LineChart : public QWidget, public FigureSource {
    Q_OBJECT

public:
    explicit LineChart(QWidget* parent = nullptr);
    ~LineChart() override;

    void setLook(const ChartLook& look);
    const ChartLook& look() const { return m_content.look; }
    void setSeries(const std::vector<ChartSeries>& series); ///< Replaces all series and shows the full range.
    void setBaselines(const std::vector<ChartBaseline>& baselines);
    void setBrackets(const std::vector<ChartBracket>& brackets);
    void setMessage(const QString& message); ///< Shown while there are no points: a hint or an error.
    void setLitPoint(
        const std::optional<QPointF>& point); ///< A thin ring around a point that is hovered elsewhere.

    const std::vector<ChartSeries>& series() const { return m_content.series; }
    const std::vector<ChartBaseline>& baselines() const { return m_content.baselines; }
    const std::vector<ChartBracket>& brackets() const { return m_content.brackets; }

    /// The displayed range in data units; the base 10 logarithm on a log axis. top() is the lowest y.
    const QRectF& range() const { return m_range; }
    void setRange(const QRectF& range);
    void resetZoom();
    void zoomAt(const QPointF& position, double factorX, double factorY); ///< `position` stays in place.
    ChartFrame frame() const;                                             ///< The axes on the screen.
    QPointF positionOf(const QPointF& point) const; ///< Position of a data point, in widget coordinates.
    /// Returns the series and the index of the point nearest to a position in widget coordinates; none: too far.
    std::optional<std::pair<QString, int>> pointAt(const QPointF& position) const;

    void paintFigure(QPainter& painter, const QSizeF& size, const FigureStyle& style) const override;
    QStringList omissions(const QSizeF& size, const FigureStyle& style) const override;
    FigureParts parts() const override;
    std::optional<QRectF> dataArea(const QSizeF& size, const FigureStyle& style) const override;
    void forEachDataRow(const std::function<void(const QStringList&)>& writeRow) const override;

    QSize sizeHint() const override { return {420, 280}; }
    QSize minimumSizeHint() const override { return {160, 120}; }

signals:
    void pointHovered(const QString& series, int index,
                      QPointF point); ///< The point nearest to the mouse, in data units.
    void pointClicked(const QString& series, int index);
    void hoverLeft();
    void rangeChanged(const QRectF& range);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;
    bool event(QEvent* event) override;
    void changeEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    void rebuild(); ///< Makes the Qt Charts series from the content and the palette.
    void layOut();  ///< Sets plot area and axes.
    void placeLegend();
    void paintForeground(QPainter& painter) const;

    ChartContent m_content;
    QString m_message;
    int m_omitted = 0;
    double m_legend = 0; // height of the names above the plot
    double m_ends = 0;   // width of the names at the ends of lines
    QRectF m_range{0, 0, 1, 1};
    std::optional<QPointF> m_lit;
    ChartCanvas* m_canvas; // Draws with Qt Charts; child of this widget.
    std::unique_ptr<ChartPointer> m_pointer;
    bool m_hasRing = false; // keyboard focus is here
};

} // namespace headwise::ui
