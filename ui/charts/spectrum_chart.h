#pragma once

#include "ui/figures/figure_export.h"

#include <QPointF>
#include <QString>
#include <QStringList>
#include <QVector>
#include <QWidget>

#include <optional>
#include <vector>

namespace headwise::ui {

class ChartCanvas;
struct ChartFrame;

/// How the points of one series are drawn. Boxes: five points each, from the smallest over the quartiles to the largest.
enum class SeriesStyle { Line, Dashed, Points, Bars, Boxes };

/// One curve or cloud of points.
struct ChartSeries {
    QString name;
    QVector<QPointF> points;
    SeriesStyle style = SeriesStyle::Line;
    std::vector<float> shades =
        {}; ///< Of Points, 0 … 1 for each: its place between two colours. Empty: one colour.
    std::vector<float> errors = {}; ///< How far each point may lie above or below, as a bar. Empty: none.
    bool hasBand = false;           ///< The errors are an area around a line instead.

    bool operator==(const ChartSeries&) const = default;
};

/// What is not data: titles, scales, reference lines. Saved as a whole.
struct ChartLook {
    enum class Scale { Linear, Log };
    enum class Plane {
        Free,     ///< Each axis has its own unit.
        Complex,  ///< Equal units, axes through zero and the unit circle: eigenvalues.
        LogPolar, ///< The same numbers by their angle and the logarithm of their modulus.
    };

    QString xTitle; ///< With its unit.
    QString yTitle;
    Scale yScale = Scale::Linear;
    Plane plane = Plane::Free;
    Scale xScale = Scale::Linear;
    QStringList xLabels = {}; ///< Names of x = 0, 1, 2, …; empty: numbers.
    double innerRadius = 0;   ///< Of LogPolar: the modulus in the centre; smaller ones are left out.

    bool operator==(const ChartLook&) const = default;
};

/// A thin dashed line at a height, with its name on it: a null, a baseline.
struct ChartBaseline {
    QString name;
    double y = 0;

    bool operator==(const ChartBaseline&) const = default;
};

/// A bracket over a range of x: points that mean something only together.
struct ChartBracket {
    double from = 0, to = 0; ///< Of x.
    double y = 0;            ///< The highest point below it.

    bool operator==(const ChartBracket&) const = default;
};

/// Lines and points on one pair of axes: spectra, kernels, eigenvalues, scores against scores. The one face of Qt Charts.
///
/// Wheel zooms x (in the complex plane both), Shift+wheel y, drag pans, double-click shows everything. Reached with Tab, ← → Home End
/// go along a series, ↑ ↓ to another, Enter chooses the point, + − 0 zoom. Points that a log
/// axis cannot show, and those that are not finite, are left out and counted in the view.
class LineChart : public QWidget, public FigureSource {
    Q_OBJECT

public:
    explicit LineChart(QWidget* parent = nullptr);

    void setLook(const ChartLook& look);
    const ChartLook& look() const { return m_look; }
    void setSeries(const std::vector<ChartSeries>& series); ///< Replaces all and shows everything.
    void setBaselines(const std::vector<ChartBaseline>& baselines);
    void setBrackets(const std::vector<ChartBracket>& brackets);
    void setMessage(const QString& message); ///< Shown while there are no points: a hint or an error.

    const std::vector<ChartSeries>& series() const { return m_series; }
    const std::vector<ChartBaseline>& baselines() const { return m_baselines; }
    const std::vector<ChartBracket>& brackets() const { return m_brackets; }

    /// The part that is shown, in data units; on a log axis the base 10 logarithm. top() is the lowest y.
    const QRectF& range() const { return m_range; }
    void setRange(const QRectF& range);
    void resetZoom();
    int omittedCount() const { return m_omitted; }
    QPointF positionOf(const QPointF& point) const; ///< Of a data point, in widget coordinates.

    void paintFigure(QPainter& painter, const QSizeF& size, const FigureStyle& style) const override;
    void forEachDataRow(const std::function<void(const QStringList&)>& writeRow) const override;

    QSize sizeHint() const override { return {420, 280}; }
    QSize minimumSizeHint() const override { return {160, 120}; }

signals:
    void pointHovered(const QString& series, int index,
                      QPointF point); ///< The nearest to the mouse, as it was given.
    void pointClicked(const QString& series, int index);
    void hoverLeft();
    void rangeChanged(const QRectF& range);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;
    bool event(QEvent* event) override;
    void changeEvent(QEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    struct Nearest {
        int series = -1;
        int index = -1; ///< In the series as it was given.
        QPointF point;  ///< As it is shown.
    };

    void rebuild(); ///< The Qt Charts series, from m_series and the palette.
    void layOut();  ///< Plot area and axes.
    void placeLegend();
    ChartFrame frame() const;
    QRectF fullRange() const;
    double halfBar() const; ///< Of the widest bars, as shown; 0 without any.
    QString omittedNote() const;
    Nearest nearestTo(const QPointF& position) const;
    void hover(const QPointF& position);
    void hoverOn(const Nearest& nearest);
    bool step(int key); ///< To another point; false: no key for that.
    void zoomAt(const QPointF& position, double factorX, double factorY);
    void paintForeground(QPainter& painter) const;

    ChartLook m_look;
    std::vector<ChartSeries> m_series;
    std::vector<ChartBaseline> m_baselines;
    std::vector<ChartBracket> m_brackets;
    QString m_message;
    int m_omitted = 0;
    double m_legend = 0; // height of the names over the plot
    QRectF m_range{0, 0, 1, 1};
    ChartCanvas* m_canvas; // Qt Charts; child of this widget.
    Nearest m_hovered;
    std::optional<QPointF> m_pressed;
    QPointF m_lastDrag;
    bool m_dragging = false;
    bool m_hasRing = false; // the keys are ours
};

} // namespace headwise::ui
