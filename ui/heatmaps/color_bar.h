#pragma once

#include "core/results/color_scale.h"
#include "ui/base/theme.h"

#include <QFont>
#include <QWidget>

#include <optional>
#include <vector>

class QMenu;

namespace headwise::ui {

class HeatmapView;

/// The colour scale beside a heatmap: colours, ticks, the mark at zero.
///
/// The bar stands over a histogram of the values. Dragging an end changes that limit (both, symmetrically, on a signed
/// map), double-click fits the data again, the context menu has maps and fits, Enter asks for exact limits.
class ColorBar : public QWidget {
    Q_OBJECT

public:
    explicit ColorBar(Qt::Orientation orientation, QWidget* parent = nullptr);

    void setScale(const ColorScale& scale);
    const ColorScale& scale() const { return m_scale; }
    void setTitle(const QString& title); ///< Name of the quantity: "OV logit".

    /// Keeps this bar and `view` at the same scale from now on.
    void follow(HeatmapView* view);
    /// Makes the bar as long as the cells of the view it follows, which must be beside it.
    void setAlongCells(bool on);

    void invert();
    void toggleLock(); ///< Switches between fixed limits and limits that follow the data.
    void setFit(ColorFit fit);
    void setLimits(float low, float high); ///< Sets fixed limits, low < high.
    void setPercentile(double percentile); ///< Percentage of the values within the limits.
    void setTransform(ColorTransform transform);
    void centerOnZero();
    void setMap(ColorMap map);

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override { return sizeHint(); }

signals:
    void scaleChanged(const headwise::ColorScale& scale); ///< Changed by the user; setScale() emits nothing.

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void leaveEvent(QEvent* event) override;

private:
    enum class End { Low, High };

    void change(const ColorScale& scale);
    void addMaps(QMenu* menu);
    void addFits(QMenu* menu);
    void addPercentiles(QMenu* menu);
    void askPercentile();
    void askLimits();
    void addTransforms(QMenu* menu);
    void addPixels(QMenu* menu); ///< Aggregate, norms, shared scale.
    QRectF extent() const;       ///< The area of the bar, its ends and its title.
    QRectF bar() const;
    double
    /// 0 at the low end, 1 at the high end, outside that range beyond them.
    fractionAt(const QPointF& position) const;
    std::optional<End> endAt(const QPointF& position) const;
    ColorScale shownScale() const;
    bool isEdited() const { return m_dragged || m_isAtEnd; }
    void setAtEnd(bool on);
    void paintHistogram(QPainter& painter, const QRectF& area) const;

    Qt::Orientation m_orientation;
    HeatmapView* m_view = nullptr; // The heatmap it follows, a sibling.
    ColorScale m_scale;
    QString m_title;
    bool m_isAlongCells = false;
    std::optional<End> m_dragged;
    bool m_isAtEnd = false; // the mouse is where a drag would begin
    ColorScale m_atPress;   // The scale at the start of a drag.
};

/// Histogram of a sample along the bar: the fraction of its finite values in each of `parts` equal lengths, from the low
/// end. Out-of-range values are not counted. [parts]
std::vector<double> sharesOnBar(const std::vector<float>& sample, const ColorScale& scale, int parts);
/// Width of a vertical or height of a horizontal bar, with its ticks.
double colorBarExtent(const ColorScale& scale, Qt::Orientation orientation, const QFont& font,
                      const QPaintDevice* device);
/// How far the bar extends past its area at either end.
double colorBarOverhang(const ColorScale& scale);
/// Paints the bar, its ticks and the mark at zero within `area`, in the painter's font, with lines as wide as its pen. A
/// vertical bar has the high end at the top.
void paintColorBar(QPainter& painter, const QRectF& area, const ColorScale& scale,
                   Qt::Orientation orientation, const ThemeColors& colors);
QString mapTitle(ColorMap map);

} // namespace headwise::ui
