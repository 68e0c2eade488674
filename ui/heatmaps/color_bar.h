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

/// The scale of a heatmap, always beside it: colours, ticks, the mark at zero.
///
/// Dragging an end changes that limit (both, symmetrically, on a signed map) over a histogram of the values, double-click fits
/// the data again, the context menu has maps and fits, Enter asks for exact limits.
class ColorBar : public QWidget {
    Q_OBJECT

public:
    explicit ColorBar(Qt::Orientation orientation, QWidget* parent = nullptr);

    void setScale(const ColorScale& scale);
    const ColorScale& scale() const { return m_scale; }
    void setTitle(const QString& title); ///< What the colours are: "OV logit".

    /// Keeps this bar and `view` at the same scale from now on.
    void follow(HeatmapView* view);
    /// Is as long as the cells of the view it follows, which has to lie beside it.
    void setAlongCells(bool on);

    void invert();
    void toggleLock(); ///< Fixed limits ↔ limits that follow the data.
    void setFit(ColorFit fit);
    void setLimits(float low, float high); ///< Fixed ones. low < high.
    void setPercentile(double percentile); ///< Percent that the limits are to contain.
    void setTransform(ColorTransform transform);
    void centerOnZero();
    void setMap(ColorMap map);

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override { return sizeHint(); }

signals:
    void scaleChanged(const headwise::ColorScale& scale); ///< By the user; setScale() is silent.

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
    void addPixels(
        QMenu*
            menu); ///< What the heatmap shows of several cells, its norms, and whom it shares its scale with.
    QRectF extent() const; ///< Of the widget what the bar, its ends and its title take.
    QRectF bar() const;
    double
    fractionAt(const QPointF& position) const; ///< 0 at the low end, 1 at the high one, beyond outside.
    std::optional<End> endAt(const QPointF& position) const;
    ColorScale shownScale() const;
    bool isEdited() const { return m_dragged || m_isAtEnd; }
    void setAtEnd(bool on);
    void paintHistogram(QPainter& painter, const QRectF& area) const;

    Qt::Orientation m_orientation;
    HeatmapView* m_view = nullptr; // The one it follows, a sibling.
    ColorScale m_scale;
    QString m_title;
    bool m_isAlongCells = false;
    std::optional<End> m_dragged;
    bool m_isAtEnd = false; // the mouse is where a drag would begin
    ColorScale m_atPress;   // A drag is measured on the scale it began with.
};

/// How a sample lies on a bar: the share of its finite values in each of `parts` equal lengths of it, from the low end. What is
/// beyond a limit is in none. [parts]
std::vector<double> sharesOnBar(const std::vector<float>& sample, const ColorScale& scale, int parts);
/// How wide (upright) or high (lying) a bar with its ticks is.
double colorBarExtent(const ColorScale& scale, Qt::Orientation orientation, const QFont& font,
                      const QPaintDevice* device);
/// How far the bar reaches beyond its area at either end.
double colorBarOverhang(const ColorScale& scale);
/// The bar, its ticks and the mark at zero within `area`, in the painter's font, lines as wide as its pen; an upright bar has the high
/// end on top.
void paintColorBar(QPainter& painter, const QRectF& area, const ColorScale& scale,
                   Qt::Orientation orientation, const ThemeColors& colors);
QString mapTitle(ColorMap map);

} // namespace headwise::ui
